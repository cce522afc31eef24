// Zeroed, page-aligned memory for FIFOs of a test. Knows how long it lives.
#pragma once

#include <sys/mman.h>

#include "base/check.h"
#include "base/unique.h"
#include "transport/fifo.h"

namespace gyre {

inline Mapping pages_for(const FifoShape& shape) {
  const std::size_t bytes = fifo_bytes(shape);
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GYRE_CHECK(address != MAP_FAILED);
  return Mapping(address, bytes);
}

// Both ends of one FIFO in this process.
struct Pipe {
  explicit Pipe(const FifoShape& shape)
      : storage(pages_for(shape)),
        writer(FifoMemory(storage.data(), shape)),
        reader(FifoMemory(storage.data(), shape)) {}
  Mapping storage;
  FifoWriter writer;
  FifoReader reader;
};

}  // namespace gyre
