#include "transport/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "base/units.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace gyre {

namespace {

constexpr std::size_t kHugeBytes = 2_MiB;
constexpr std::size_t kAskFromBytes = 64_MiB;

struct Table {
  std::shared_mutex mutex;
  std::map<std::uintptr_t, RegionRef> by_base;
  std::uint32_t next_id = 1;
  std::atomic<std::uint64_t> generation{1};
};

// Leaked: user threads may free memory while static destructors run.
Table& table() {
  static auto* made = new Table;
  return *made;
}

// What the kernel says can still be had, or nothing when it does not say.
std::optional<std::size_t> available_bytes() {
  std::ifstream info("/proc/meminfo");
  std::string name, unit;
  for (std::size_t kib = 0; info >> name >> kib; std::getline(info, unit))
    if (name == "MemAvailable:") return kib << 10;
  return std::nullopt;
}

}  // namespace

Result<Mapping> map_region(int fd, std::size_t bytes) {
  // Reserve more than asked, then place the mapping on a 2 MiB boundary and give the rest back.
  const std::size_t room = bytes + kHugeBytes;
  void* reserved =
      mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    return error(Code::system, "mmap of {} of address space", bytes_text(room)).because(errno);
  const auto start = reinterpret_cast<std::uintptr_t>(reserved);
  const std::uintptr_t base = (start + kHugeBytes - 1) / kHugeBytes * kHugeBytes;
  void* placed = mmap(reinterpret_cast<void*>(base), bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED, fd, 0);
  if (placed == MAP_FAILED) {
    const int reason = errno;
    munmap(reserved, room);
    return error(Code::system, "mmap of {} of shared memory", bytes_text(bytes)).because(reason);
  }
  if (base > start) munmap(reserved, base - start);
  if (start + room > base + bytes)
    munmap(reinterpret_cast<void*>(base + bytes), start + room - base - bytes);
  return Mapping(placed, bytes);
}

Result<std::byte*> allocate_region(std::size_t bytes) {
  const std::size_t grain = bytes >= kHugeBytes ? kHugeBytes : 4096;
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + grain - 1) / grain * grain;
  if (rounded < bytes) return error(Code::invalid_argument, "{} B is too much to allocate", bytes);
  // The kernel would promise more than there is, and then kill whoever is largest. Reading its
  // figure costs more than a small region.
  if (rounded >= kAskFromBytes)
    if (const auto available = available_bytes(); available && rounded > *available)
      return error(Code::system, "{} of shared memory were asked for, {} are available",
                   bytes_text(rounded), bytes_text(*available));
  auto region = std::make_shared<Region>();
  region->fd = Fd(memfd_create("gyre-region", MFD_CLOEXEC));
  if (!region->fd) return error(Code::system, "memfd_create").because(errno);
  // fallocate, not ftruncate alone: running out of memory is an error here and no SIGBUS later.
  if (const int reason = posix_fallocate(region->fd.get(), 0, static_cast<off_t>(rounded)))
    return error(Code::system, "reserve {} of shared memory", bytes_text(rounded)).because(reason);
  region->mapping = GYRE_TRY(map_region(region->fd.get(), rounded));
  region->base = region->mapping.data();
  region->bytes = rounded;
  if (rounded >= kHugeBytes) madvise(region->base, rounded, MADV_COLLAPSE);  // a wish, not a need
  std::byte* base = region->base;
  std::unique_lock lock(table().mutex);
  region->id = table().next_id++;
  table().by_base.emplace(reinterpret_cast<std::uintptr_t>(base), std::move(region));
  return base;
}

Status free_region(void* base) {
  std::unique_lock lock(table().mutex);
  const auto found = table().by_base.find(reinterpret_cast<std::uintptr_t>(base));
  if (found == table().by_base.end())
    return error(Code::invalid_argument, "{} was not allocated by gyreMemAlloc", fmt::ptr(base));
  table().by_base.erase(found);
  table().generation.fetch_add(1, std::memory_order_release);
  return {};
}

RegionRef find_region(const void* address, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  std::shared_lock lock(table().mutex);
  auto next = table().by_base.upper_bound(first);
  if (next == table().by_base.begin()) return nullptr;
  const RegionRef& region = std::prev(next)->second;
  if (first + bytes > reinterpret_cast<std::uintptr_t>(region->base) + region->bytes)
    return nullptr;
  return region;
}

RegionRef find_region(std::uint32_t id) {
  std::shared_lock lock(table().mutex);
  for (const auto& [base, region] : table().by_base)
    if (region->id == id) return region;
  return nullptr;
}

std::uint64_t region_generation() { return table().generation.load(std::memory_order_acquire); }

}  // namespace gyre
