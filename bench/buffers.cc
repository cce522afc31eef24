#include "bench/buffers.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace perf {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kGuard = 256;

}  // namespace

Buffer::~Buffer() {
  // After a failure the communicator may refuse; the process is about to end then.
  if (window_) (void)gyreCommWindowDeregister(comm_, window_);
  if (handle_) (void)gyreCommDeregister(comm_, handle_);
  if (from_gyre_) {
    (void)gyreMemFree(base_);
  } else {
    std::free(base_);
  }
}

Problem Buffer::open(const Spec& spec, gyreComm_t comm) {
  misalign_ = spec.misalign;
  const std::size_t room = spec.slot_bytes + misalign_ + kGuard;
  stride_ = kPage + (room + kPage - 1) / kPage * kPage;
  bytes_ = stride_ * spec.slots;
  from_gyre_ = spec.memory != Memory::plain;
  void* memory = nullptr;
  if (from_gyre_) {
    if (Problem p = problem_of(gyreMemAlloc(&memory, bytes_), "gyreMemAlloc", comm)) return p;
  } else {
    memory = std::aligned_alloc(kPage, bytes_);
    if (!memory) return fmt::format("no memory for {} bytes of buffer", bytes_);
  }
  base_ = static_cast<std::byte*>(memory);
  std::memset(base_, 0, bytes_);  // pages exist before anything is timed
  return enroll(comm, spec.memory);
}

Problem Buffer::enroll(gyreComm_t comm, Memory memory) {
  comm_ = comm;
  if (memory == Memory::registered)
    return problem_of(gyreCommRegister(comm, base_, bytes_, &handle_), "gyreCommRegister", comm);
  if (memory == Memory::window)
    return problem_of(
        gyreCommWindowRegister(comm, base_, bytes_, &window_, GYRE_WIN_COLL_SYMMETRIC),
        "gyreCommWindowRegister", comm);
  return std::nullopt;
}

std::byte* Buffer::slot(std::size_t index) const {
  return base_ + index * stride_ + kPage + misalign_;
}

void Buffer::poison(std::size_t index, std::size_t bytes) const {
  std::memset(slot(index) - kGuard, static_cast<int>(kPoison), bytes + 2 * kGuard);
}

std::size_t Buffer::broken_guards(std::size_t index, std::size_t bytes) const {
  const auto broken = [](const std::byte* first) {
    return kGuard - static_cast<std::size_t>(std::count(first, first + kGuard, kPoison));
  };
  return broken(slot(index) - kGuard) + broken(slot(index) + bytes);
}

}  // namespace perf
