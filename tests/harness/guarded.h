// A buffer that ends where memory ends: one byte past it is a fault, and bytes before it are
// watched. Knows pages. Does not know what is inside.
#pragma once

#include <cstddef>
#include <cstdint>

namespace harness {

class Guarded {
 public:
  // `shared`: from gyreMemAlloc, which local peers can map; after it there is no guard page of
  // ours, but the end of the mapping.
  Guarded(std::size_t bytes, bool shared);
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // True while nobody has written before the buffer.
  bool front_is_whole() const;

 private:
  std::byte* pages_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t room_ = 0;
  std::size_t bytes_;
  bool shared_;
};

std::uint64_t hash_of(const void* data, std::size_t bytes);

}  // namespace harness
