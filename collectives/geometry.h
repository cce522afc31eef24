// Geometry: what a Work adds to a Program so that blocks become addresses. One formula for every
// collective and every tail: an empty chunk still does its token and credit step on both ends.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gyre {

struct Extent {
  std::uint64_t offset = 0;  // elements from the start of the block
  std::uint64_t count = 0;   // elements, 0 past the end
};

// Uniform blocks: `blocks` of block_elems, the last ragged or empty when total ends early.
// Uneven blocks (V-collectives): counts != nullptr, one entry per block.
struct Geometry {
  std::uint64_t total_elems = 0;  // over all blocks, uniform case
  std::uint64_t block_elems = 0;  // uniform case
  std::uint64_t chunk_elems = 1;  // most elements a slot takes
  std::uint32_t parts = 1;
  std::uint64_t loops = 0;                // of lanes without own_loops
  const std::uint64_t* counts = nullptr;  // per block, elements

  std::uint64_t block_count(std::int32_t block) const {
    if (counts) return counts[block];
    const std::uint64_t first = static_cast<std::uint64_t>(block) * block_elems;
    return first >= total_elems ? 0 : std::min(block_elems, total_elems - first);
  }
  Extent extent(std::int32_t block, std::uint64_t loop, std::uint32_t part) const {
    const std::uint64_t offset = (loop * parts + part) * chunk_elems;
    const std::uint64_t count = block_count(block);
    return {offset, offset >= count ? 0 : std::min(chunk_elems, count - offset)};
  }
  std::uint64_t loops_for(std::uint64_t elems) const {
    const std::uint64_t stride = chunk_elems * parts;
    return (elems + stride - 1) / stride;
  }
};

}  // namespace gyre
