// A second reading of plans, apart from the prover's: all ranks' programs on real integers in real
// buffers, turns taken in random order. Knows nothing of pieces, trees or clocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/contract.h"
#include "collectives/plan.h"

namespace gyre {

struct Execution {
  int slots = 2;
  std::uint64_t count = 100;  // elements of the call, as its user counts them
  std::uint64_t chunk = 16;
  bool in_place = false;
  std::uint64_t seed = 1;
};

// What went wrong, with the seed; empty when every buffer holds what the collective promises and
// nothing else has changed.
std::string interpret(const std::vector<Program>& programs, const Contract& contract,
                      const Execution& how);

}  // namespace gyre
