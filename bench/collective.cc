#include "bench/collective.h"

#include <algorithm>

namespace perf {

std::size_t block_count(Blocks blocks, int ranks) {
  switch (blocks) {
    case Blocks::one:
      return 1;
    case Blocks::per_rank:
      return static_cast<std::size_t>(ranks);
    case Blocks::two_per_rank:
      return 2 * static_cast<std::size_t>(ranks);
  }
  return 0;
}

std::size_t Collective::count_of(std::size_t bytes, std::size_t element_bytes, int ranks) const {
  if (bytes == 0) return 0;
  const std::size_t parts = divides ? static_cast<std::size_t>(ranks) : 1;
  return std::max<std::size_t>(1, bytes / (parts * element_bytes));
}

std::size_t Collective::size_of(std::size_t count, std::size_t element_bytes, int ranks) const {
  return count * element_bytes * (divides ? static_cast<std::size_t>(ranks) : 1);
}

std::vector<Segment> whole_from(const Shape& shape, int source) {
  return {{0, shape.count, source, 0}};
}

std::vector<Segment> block_from_each(const Shape& shape) {
  std::vector<Segment> segments;
  for (int rank = 0; rank < shape.ranks; ++rank)
    segments.push_back({static_cast<std::size_t>(rank) * shape.count, shape.count, rank, 0});
  return segments;
}

}  // namespace perf
