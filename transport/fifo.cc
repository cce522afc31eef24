#include "transport/fifo.h"

#include <sys/mman.h>

#include <cerrno>

namespace gyre {

namespace {

std::size_t page_ceil(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

std::size_t header_bytes(const FifoShape& shape) {
  return page_ceil(sizeof(CreditLine) + shape.slots * sizeof(SlotHeader));
}

}  // namespace

std::size_t fifo_bytes(const FifoShape& shape) {
  return header_bytes(shape) + page_ceil(std::size_t{shape.slots} * shape.slot_bytes);
}

Result<Mapping> private_fifo(const FifoShape& shape) {
  const std::size_t bytes = fifo_bytes(shape);
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return error(Code::system, "mmap of {} B", bytes).because(errno);
  return Mapping(address, bytes);
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
