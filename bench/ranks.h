// Who the ranks are: this process under a launcher, or local processes or threads of our own.
// Knows starting, watching and ending them. Does not know what they measure.
#pragma once

#include "bench/collective.h"
#include "bench/options.h"
#include "bench/report.h"

namespace perf {

// A launcher (torchrun, Open MPI, Hydra, Slurm, GYRE_RANK) made this process one rank of a job.
bool is_launched();
// Whether this process shows results: always when the job is local, else the launcher's rank 0.
bool is_reporter();

// Runs all ranks of this process to their end; never hangs on one that died or went silent.
// Gives the exit status.
int run_ranks(const Options& options, const Collective& collective, Report& report);

}  // namespace perf
