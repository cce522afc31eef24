// Proof by symmetry, for any number of ranks: when every rank's program is rank 0's turned by its
// rank, all ranks may take each turn together, and one rank's run tells all. Knows plans of one
// lane without windows whose blocks are the ranks (rings, circulants). Does not build programs.
#pragma once

#include "collectives/prove.h"

namespace gyre {

// Whether `program` of rank `by` is rank 0's with every block and every peer moved by `by`.
bool is_rotation(const Program& zero, const Program& program, int by, int size);

// all_reduce, all_gather and reduce_scatter at `slots` slots from rank 0's program alone.
Verdict prove_rotating(const Program& zero, const Contract& contract, int slots, int loops);

}  // namespace gyre
