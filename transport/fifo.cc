#include "transport/fifo.h"

namespace gyre {

namespace {

std::size_t page_ceil(std::size_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

std::size_t header_bytes(const FifoShape& shape) {
  return page_ceil(sizeof(CreditLine) + shape.slots * sizeof(SlotHeader));
}

}  // namespace

std::size_t fifo_bytes(const FifoShape& shape) {
  return header_bytes(shape) + page_ceil(std::size_t{shape.slots} * shape.slot_bytes);
}

FifoMemory::FifoMemory(std::byte* memory, const FifoShape& shape)
    : credit_(reinterpret_cast<CreditLine*>(memory)),
      headers_(reinterpret_cast<SlotHeader*>(memory + sizeof(CreditLine))),
      data_(memory + header_bytes(shape)),
      shape_(shape) {
  GYRE_CHECK(reinterpret_cast<std::uintptr_t>(memory) % kPageBytes == 0);
  GYRE_CHECK(shape.slots >= 1);
}

}  // namespace gyre
