#include "bench/samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace perf {

double reduced(Reduce how, const std::vector<double>& per_rank) {
  switch (how) {
    case Reduce::rank0:
      return per_rank.front();
    case Reduce::minimum:
      return *std::min_element(per_rank.begin(), per_rank.end());
    case Reduce::maximum:
      return *std::max_element(per_rank.begin(), per_rank.end());
    case Reduce::average:
      break;
  }
  return std::accumulate(per_rank.begin(), per_rank.end(), 0.0) /
         static_cast<double>(per_rank.size());
}

double percentile(std::vector<double> samples, double part) {
  if (samples.empty()) return 0;
  const double position = std::ceil(part * static_cast<double>(samples.size()));
  const auto index = static_cast<std::size_t>(std::max(1.0, position)) - 1;
  const auto at =
      samples.begin() + static_cast<std::ptrdiff_t>(std::min(index, samples.size() - 1));
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}

void fill_figures(const std::vector<double>& samples, int skipped, Timing& timing) {
  if (static_cast<std::size_t>(skipped) >= samples.size()) return;
  const std::vector<double> kept(samples.begin() + skipped, samples.end());
  const auto count = static_cast<double>(kept.size());
  timing.samples = static_cast<std::int32_t>(kept.size());
  timing.min = *std::min_element(kept.begin(), kept.end());
  timing.max = *std::max_element(kept.begin(), kept.end());
  timing.average = std::accumulate(kept.begin(), kept.end(), 0.0) / count;
  double squares = 0;
  for (double sample : kept) squares += (sample - timing.average) * (sample - timing.average);
  timing.deviation = std::sqrt(squares / count);
  timing.p50 = percentile(kept, 0.50);
  timing.p95 = percentile(kept, 0.95);
  timing.p99 = percentile(kept, 0.99);
}

}  // namespace perf
