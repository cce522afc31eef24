// Uneven all-to-all. Rank r sends (r + b) % 3 blocks to rank b: none, one or two, one on average.
#include <algorithm>

#include "bench/program.h"

namespace perf {
namespace {

struct Counts {
  std::vector<std::size_t> counts;
  std::vector<std::size_t> offsets;
  std::size_t total = 0;
};

// By symmetry of the rule, what a rank receives from each peer equals what it sends to it.
Counts counts_of(int rank, const Shape& shape) {
  Counts result;
  for (int peer = 0; peer < shape.ranks; ++peer) {
    const std::size_t count = static_cast<std::size_t>((rank + peer) % 3) * shape.count;
    result.counts.push_back(count);
    result.offsets.push_back(result.total);
    result.total += count;
  }
  return result;
}

std::vector<Segment> segments_of(const Shape& shape) {
  std::vector<Segment> segments;
  const Counts mine = counts_of(shape.rank, shape);
  const auto me = static_cast<std::size_t>(shape.rank);
  for (int peer = 0; peer < shape.ranks; ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    segments.push_back({mine.offsets[p], mine.counts[p], peer, counts_of(peer, shape).offsets[me]});
  }
  return segments;
}

std::size_t moved_by_busiest(const Shape& shape) {
  std::size_t most = 0;
  for (int rank = 0; rank < shape.ranks; ++rank)
    most = std::max(most, counts_of(rank, shape).total);
  return most;
}

gyreResult_t run_call(const Call& call) {
  const Counts mine = counts_of(call.shape.rank, call.shape);
  return gyreAlltoAllV(call.send, mine.counts.data(), mine.offsets.data(), call.recv,
                       mine.counts.data(), mine.offsets.data(), call.type.id, call.comm,
                       call.stream);
}

}  // namespace
}  // namespace perf

int main(int argc, char** argv) {
  using namespace perf;
  return run_program(argc, argv,
                     {.name = "alltoallv",
                      .rule = BusRule::shared,
                      .sent = Blocks::two_per_rank,
                      .received = Blocks::two_per_rank,
                      .divides = true,
                      .run = run_call,
                      .segments = segments_of,
                      .moved = moved_by_busiest});
}
