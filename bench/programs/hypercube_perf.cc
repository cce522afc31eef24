// All-gather by hand over a hypercube of sends and receives: log2(n) rounds, each doubling what a
// rank holds.
#include <cstring>

#include "bench/program.h"

namespace perf {
namespace {

// Swaps all that this rank holds, `blocks` blocks, with the partner of the round.
gyreResult_t round(const Call& c, int blocks) {
  const std::size_t block_bytes = c.shape.count * c.type.bytes;
  auto* base = static_cast<char*>(c.recv);
  const int mine = c.shape.rank & ~(blocks - 1);
  const int partner = c.shape.rank ^ blocks;
  const std::size_t count = c.shape.count * static_cast<std::size_t>(blocks);
  const gyreResult_t started = gyreGroupStart();
  if (started != gyreSuccess) return started;
  const gyreResult_t sent = gyreSend(base + static_cast<std::size_t>(mine) * block_bytes, count,
                                     c.type.id, partner, c.comm, c.stream);
  const gyreResult_t received =
      gyreRecv(base + static_cast<std::size_t>(mine ^ blocks) * block_bytes, count, c.type.id,
               partner, c.comm, c.stream);
  const gyreResult_t ended = gyreGroupEnd();
  if (sent != gyreSuccess) return sent;
  return received != gyreSuccess ? received : ended;
}

gyreResult_t run_call(const Call& c) {
  const std::size_t block_bytes = c.shape.count * c.type.bytes;
  char* own = static_cast<char*>(c.recv) + static_cast<std::size_t>(c.shape.rank) * block_bytes;
  if (own != c.send && block_bytes > 0) std::memcpy(own, c.send, block_bytes);
  for (int blocks = 1; blocks < c.shape.ranks; blocks *= 2)
    if (const gyreResult_t result = round(c, blocks); result != gyreSuccess) return result;
  return gyreSuccess;
}

}  // namespace
}  // namespace perf

int main(int argc, char** argv) {
  using namespace perf;
  return run_program(
      argc, argv,
      {.name = "hypercube",
       .received = Blocks::per_rank,
       .in_place = InPlace::send_in_recv,
       .divides = true,
       .identical = true,
       .run = run_call,
       .segments = block_from_each,
       .moved = [](const Shape& s) { return s.count * static_cast<std::size_t>(s.ranks - 1); },
       .refuses =
           [](int ranks) {
             return (ranks & (ranks - 1)) == 0 ? "" : "a hypercube needs a power of two of ranks";
           }});
}
