// A rank's send and receive memory, with guard bytes around every slot. Knows plain, registered and
// window memory. Does not know what is written there.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/options.h"
#include "bench/problem.h"

namespace perf {

inline constexpr std::byte kPoison{0xa5};

// `slots` pieces of up to `slot_bytes`, each with guards; one allocation.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  struct Spec {
    std::size_t slot_bytes;
    std::size_t slots;
    std::size_t misalign;
    Memory memory;
  };
  // Collective when the memory is a window.
  [[nodiscard]] Problem open(const Spec& spec, gyreComm_t comm);

  std::byte* slot(std::size_t index) const;
  // Poisons [0, bytes) of a slot and the guards before and after.
  void poison(std::size_t index, std::size_t bytes) const;
  // Guard bytes of a slot of `bytes` that were overwritten.
  std::size_t broken_guards(std::size_t index, std::size_t bytes) const;

 private:
  Problem enroll(gyreComm_t comm, Memory memory);

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t stride_ = 0;
  std::size_t misalign_ = 0;
  bool from_gyre_ = false;
  gyreComm_t comm_ = nullptr;
  void* handle_ = nullptr;
  gyreWindow_t window_ = nullptr;
};

}  // namespace perf
