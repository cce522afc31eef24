// A FIFO: the slots of one edge in memory that both ends can reach, with one writer and one reader.
// Knows slots, their headers and credits. Does not know what is in a slot, nor who carries it: on a
// mapped link both ends look at the same words, on a posted link a pump copies them across.
//
// A slot is announced by its own header line, not by a shared tail counter: a message of up to
// kInlineBytes travels in that one cache line together with its flag.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/result.h"
#include "base/unique.h"
#include "transport/signature.h"

namespace gyre {

inline constexpr std::size_t kLineBytes =
    128;  // two lines: the adjacent-line prefetcher pairs them
inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::uint32_t kInlineBytes = 32;

// flag is step+1 of the message in the slot; a stale slot holds an older step, so no wiping.
struct alignas(kLineBytes) SlotHeader {
  std::uint64_t flag;
  CallSignature call;
  std::uint32_t bytes;
  std::uint32_t unused;
  std::byte inlined[kInlineBytes];
};
static_assert(sizeof(SlotHeader) == kLineBytes);
static_assert(offsetof(SlotHeader, inlined) + kInlineBytes <= 64, "one cache line");

// Written by the reader alone: how many slots it has consumed.
struct alignas(kLineBytes) CreditLine {
  std::uint64_t consumed;
};

struct FifoShape {
  std::uint32_t slots = 4;
  std::uint32_t slot_bytes = 0;  // 0: a token edge, headers alone
};

// Bytes of memory that a FIFO of this shape takes, a whole number of pages.
std::size_t fifo_bytes(const FifoShape& shape);
// Zeroed memory for one FIFO that this process alone sees, taken where it is touched.
Result<Mapping> private_fifo(const FifoShape& shape);

// Both views share this: where things are. A view, not an owner: the Link owns the storage.
class FifoMemory {
 public:
  FifoMemory() = default;
  // `memory` is page-aligned, zeroed, of fifo_bytes(shape).
  FifoMemory(std::byte* memory, const FifoShape& shape);
  SlotHeader& header(std::uint64_t step) const { return headers_[step % shape_.slots]; }
  std::byte* data(std::uint64_t step) const {
    return data_ + (step % shape_.slots) * static_cast<std::size_t>(shape_.slot_bytes);
  }
  // Where a message of `bytes` lies: in its header when it fits.
  std::byte* payload(std::uint64_t step, std::size_t bytes) const {
    return bytes <= kInlineBytes ? header(step).inlined : data(step);
  }
  std::uint64_t& consumed() const { return credit_->consumed; }
  const FifoShape& shape() const { return shape_; }
  explicit operator bool() const { return credit_ != nullptr; }

 private:
  CreditLine* credit_ = nullptr;
  SlotHeader* headers_ = nullptr;
  std::byte* data_ = nullptr;
  FifoShape shape_;
};

// The writer's end. Executor thread only.
class FifoWriter {
 public:
  FifoWriter() = default;
  explicit FifoWriter(const FifoMemory& memory) : memory_(memory) {}
  explicit operator bool() const { return static_cast<bool>(memory_); }  // false until open
  // True when the current slot is free. Looks at the reader's line only when the cached credit is
  // out.
  bool can_send() {
    if (step_ - credit_ < memory_.shape().slots) return true;
    // pairs with FifoReader::release(): the reader's loads from the slot are over
    credit_ = std::atomic_ref(memory_.consumed()).load(std::memory_order_acquire);
    return step_ - credit_ < memory_.shape().slots;
  }
  std::byte* payload(std::size_t bytes) const {
    GYRE_DCHECK(bytes <= kInlineBytes || bytes <= memory_.shape().slot_bytes);
    return memory_.payload(step_, bytes);
  }
  void commit(const CallSignature& call, std::size_t bytes) {
    SlotHeader& header = memory_.header(step_);
    header.call = call;
    header.bytes = static_cast<std::uint32_t>(bytes);
    // pairs with FifoReader::ready(): payload and signature before the flag
    std::atomic_ref(header.flag).store(++step_, std::memory_order_release);
    __builtin_prefetch(&memory_.header(step_), 1);  // own the next line while the peer works
  }
  std::uint64_t step() const { return step_; }
  const FifoMemory& memory() const { return memory_; }

 private:
  FifoMemory memory_;
  std::uint64_t step_ = 0;    // slots committed
  std::uint64_t credit_ = 0;  // slots known to be consumed
};

// The reader's end. Executor thread only.
class FifoReader {
 public:
  FifoReader() = default;
  explicit FifoReader(const FifoMemory& memory) : memory_(memory) {}
  bool ready() const {
    // pairs with FifoWriter::commit()
    return std::atomic_ref(memory_.header(step_).flag).load(std::memory_order_acquire) == step_ + 1;
  }
  const SlotHeader& header() const { return memory_.header(step_); }
  const std::byte* payload(std::size_t bytes) const { return memory_.payload(step_, bytes); }
  void release() {
    // pairs with FifoWriter::can_send()
    std::atomic_ref(memory_.consumed()).store(++step_, std::memory_order_release);
  }
  std::uint64_t step() const { return step_; }
  const FifoMemory& memory() const { return memory_; }

 private:
  FifoMemory memory_;
  std::uint64_t step_ = 0;  // slots consumed
};

}  // namespace gyre
