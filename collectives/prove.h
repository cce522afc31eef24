// The prover: runs all ranks' programs on abstract values and says whether the plan keeps its three
// laws, or shows the first step that breaks one. Knows contracts. Does not know how plans are made.
//
// Law 1: at k slots nobody waits for ever. Law 2: the right piece of every rank exactly once, added
// alike on all ranks, finished once; nothing left in an edge; no buffer touched by two lanes
// without an order between them, and no peer's buffer before he came or after he left. Law 3: the
// least k is computed, not chosen. More slots never hurt: the order that credits give is not
// counted as order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "collectives/catalog.h"
#include "collectives/contract.h"

namespace gyre {

struct ProofCase {
  int slots = 2;
  int loops = 2;
  bool in_place = false;
};

struct Verdict {
  std::string fault;        // empty: proved
  std::uint64_t turns = 0;  // taken by all ranks together
  // On the way of any part to any result: most moves that combined, most additions in them. A move
  // adds in the accumulate type, left to right, and rounds to the element type once.
  int roundings = 0, additions = 0;
  bool rank_order = false;  // every reduction is one move over all ranks in rank order
  bool proved() const { return fault.empty(); }
};

// Every rank's program. Of send and recv: rank `shape.rank` sends to shape.root (1 or 2 ranks).
Result<std::vector<Program>> build_all(const Shape& shape);
Contract contract_of(const Shape& shape);

Verdict prove(std::span<const Program> programs, const Contract& contract, const ProofCase& how);

// In and out of place, one loop and several: the smallest failing case.
Verdict prove_all_cases(std::span<const Program> programs, const Contract& contract, int slots);

// The fewest slots at which the programs come to their end, 0 when eight are too few.
int least_slots(std::span<const Program> programs);

}  // namespace gyre
