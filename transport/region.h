// Regions: memory of gyreMemAlloc, backed by a memfd so that local peers can map it. One table per
// process. Knows ranges and descriptors. Does not know who has mapped them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/unique.h"

namespace gyre {

// Shared ownership: a Link that announced a region keeps its descriptor alive until it is done.
struct Region {
  std::uint32_t id = 0;  // never 0, never reused in this process
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  Fd fd;
  Mapping mapping;
};
using RegionRef = std::shared_ptr<const Region>;

// Zeroed memory, 2 MiB-aligned and on huge pages where the kernel agrees. Any thread.
Result<std::byte*> allocate_region(std::size_t bytes);
Status free_region(void* base);
// The region that holds all of [address, address+bytes), or null. Any thread.
RegionRef find_region(const void* address, std::size_t bytes);
// The region of this process with that id, or null. Any thread.
RegionRef find_region(std::uint32_t id);
// Changes with every free: a cached answer of find_region is good while it stays the same.
std::uint64_t region_generation();

// Maps a peer's region (or our own) by descriptor, 2 MiB-aligned.
Result<Mapping> map_region(int fd, std::size_t bytes);

}  // namespace gyre
