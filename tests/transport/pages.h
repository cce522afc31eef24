// Zeroed, page-aligned memory for FIFOs of a test. Knows how long it lives.
#pragma once

#include "base/check.h"
#include "transport/fifo.h"

namespace gyre {

inline Mapping pages_for(const FifoShape& shape) {
  Result<Mapping> made = private_fifo(shape);
  GYRE_CHECK(made);
  return *std::move(made);
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
