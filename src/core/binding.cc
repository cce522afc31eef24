#include "core/binding.h"

#include <algorithm>
#include <numeric>

namespace gyre {

namespace {

// Blocks begin on cache lines, so that no two ranks write one line.
constexpr std::size_t kBlockAlign = 64;

std::uint64_t cut_block(std::size_t count, std::int32_t blocks, std::size_t elem_bytes) {
  if (blocks == 1) return count;
  const std::uint64_t align = kBlockAlign / elem_bytes;
  const auto parts = static_cast<std::uint64_t>(blocks);
  const std::uint64_t even = (count + parts - 1) / parts;
  return (even + align - 1) / align * align;
}

void bind_uneven(const Request& request, int rank, Work& work, UnevenTables& tables) {
  const Uneven& u = *request.uneven;
  const std::size_t n = u.send_counts.size();
  const std::size_t elem = size_of(request.type);
  const auto me = static_cast<std::size_t>(rank);
  tables.counts.assign(u.send_counts.begin(), u.send_counts.end());
  tables.input_offsets.assign(u.send_offsets.begin(), u.send_offsets.end());
  tables.output_offsets = tables.input_offsets;
  switch (request.what) {
    case Collective::all_gather_v:
      work.input -= u.send_offsets[me] * elem;
      break;
    case Collective::reduce_scatter_v:
      work.output -= u.send_offsets[me] * elem;
      break;
    default:  // all_to_all_v: blocks 0..n go out, n..2n come in
      tables.counts.insert(tables.counts.end(), u.recv_counts.begin(), u.recv_counts.end());
      tables.input_offsets.resize(2 * n, 0);
      tables.output_offsets.assign(n, 0);
      tables.output_offsets.insert(tables.output_offsets.end(), u.recv_offsets.begin(),
                                   u.recv_offsets.end());
  }
  work.geometry.counts = tables.counts.data();
  work.input_offsets = tables.input_offsets.data();
  work.output_offsets = tables.output_offsets.data();
  const std::uint64_t largest = *std::max_element(tables.counts.begin(), tables.counts.end());
  work.geometry.loops = work.geometry.loops_for(largest);
}

}  // namespace

CallSignature signature_of(const Request& request, std::uint64_t sequence) {
  switch (request.what) {
    case Collective::send:
    case Collective::recv:  // both ends must say the same; order between a pair is kept by its edge
      return make_signature(Collective::send, request.type, Op::sum, 0, 0, request.count);
    case Collective::all_gather_v:
    case Collective::reduce_scatter_v: {
      const auto& counts = request.uneven->send_counts;
      return make_signature(request.what, request.type, request.op, 0, sequence,
                            std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
    }
    case Collective::all_to_all_v:
      return make_signature(request.what, request.type, Op::sum, 0, sequence, 0);
    default:
      return make_signature(request.what, request.type, request.op, request.root, sequence,
                            request.count);
  }
}

std::size_t message_bytes(const Request& request) {
  const std::size_t elem = size_of(request.type);
  if (!is_uneven(request.what)) return request.count * elem;
  const auto& counts = request.uneven->send_counts;
  return *std::max_element(counts.begin(), counts.end()) * elem;
}

Work bind_work(const Request& request, const Program& program, int rank, int size,
               std::size_t chunk_bytes, UnevenTables& tables) {
  const std::size_t elem = size_of(request.type);
  Work work;
  work.type = request.type;
  work.op = request.op;
  work.rank = rank;
  work.ranks = size;
  work.input = reinterpret_cast<std::uintptr_t>(request.send);
  work.output = reinterpret_cast<std::uintptr_t>(request.recv);
  Geometry& g = work.geometry;
  g.chunk_elems = std::max<std::uint64_t>(chunk_bytes / elem, 1);
  g.parts = program.parts;
  if (is_uneven(request.what)) {
    bind_uneven(request, rank, work, tables);
    return work;
  }
  const std::uint64_t own = static_cast<std::uint64_t>(rank) * request.count * elem;
  switch (request.what) {
    case Collective::all_gather:
    case Collective::gather:
      work.input -= own;
      [[fallthrough]];
    case Collective::all_to_all:
      g.block_elems = request.count;
      g.total_elems = request.count * static_cast<std::uint64_t>(size);
      break;
    case Collective::reduce_scatter:
    case Collective::scatter:
      work.output -= own;
      g.block_elems = request.count;
      g.total_elems = request.count * static_cast<std::uint64_t>(size);
      break;
    default:
      g.block_elems = cut_block(request.count, program.blocks, elem);
      g.total_elems = request.count;
  }
  g.loops = g.loops_for(std::min(g.block_elems, g.total_elems));
  return work;
}

}  // namespace gyre
