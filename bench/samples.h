// Figures over the times of single operations. Knows percentiles and spread; nothing of ranks'
// work.
#pragma once

#include <vector>

#include "bench/options.h"
#include "bench/record.h"

namespace perf {

// One value out of one per rank, as -a says. Needs: not empty.
double reduced(Reduce how, const std::vector<double>& per_rank);

// Value below which `part` (0..1) of the samples lie: the nearest-rank percentile.
double percentile(std::vector<double> samples, double part);

// Fills the per-iteration figures of `timing`, leaving out the first `skipped`.
void fill_figures(const std::vector<double>& samples, int skipped, Timing& timing);

}  // namespace perf
