#include "harness/guarded.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "gyre/gyre.h"

namespace harness {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kFront = 256;
constexpr std::byte kMark{0xa7};

}  // namespace

Guarded::Guarded(std::size_t bytes, bool shared) : bytes_(bytes), shared_(shared) {
  room_ = (bytes + kFront + kPage - 1) / kPage * kPage;
  if (shared) {
    constexpr std::size_t kHuge = 2 << 20;  // gyreMemAlloc's grain from here on
    if (room_ >= kHuge) room_ = (room_ + kHuge - 1) / kHuge * kHuge;
    void* pages = nullptr;
    GYRE_CHECK(gyreMemAlloc(&pages, room_) == gyreSuccess);
    pages_ = static_cast<std::byte*>(pages);
  } else {
    void* pages =
        mmap(nullptr, room_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    GYRE_CHECK(pages != MAP_FAILED);
    pages_ = static_cast<std::byte*>(pages);
    GYRE_CHECK(mprotect(pages_ + room_, kPage, PROT_NONE) == 0);
  }
  data_ = pages_ + room_ - bytes;
  std::fill_n(data_ - kFront, kFront, kMark);
}

Guarded::~Guarded() {
  if (shared_)
    (void)gyreMemFree(pages_);
  else
    munmap(pages_, room_ + kPage);
}

bool Guarded::front_is_whole() const {
  return std::all_of(data_ - kFront, data_, [](std::byte b) { return b == kMark; });
}

std::uint64_t hash_of(const void* data, std::size_t bytes) {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  const auto* from = static_cast<const std::byte*>(data);
  for (std::size_t i = 0; i < bytes; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + i, std::min<std::size_t>(8, bytes - i));
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace harness
