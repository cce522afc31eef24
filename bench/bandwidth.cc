#include "bench/bandwidth.h"

namespace perf {

double bus_factor(BusRule rule, int ranks) {
  if (ranks < 2) return 0;
  const double shared = static_cast<double>(ranks - 1) / ranks;
  switch (rule) {
    case BusRule::all_reduce:
      return 2 * shared;
    case BusRule::shared:
      return shared;
    case BusRule::whole:
      return 1;
  }
  return 0;
}

Bandwidth bandwidth_of(BusRule rule, int ranks, std::size_t bytes, double seconds) {
  if (seconds <= 0) return {0, 0};
  const double algorithm = static_cast<double>(bytes) / 1e9 / seconds;
  return {algorithm, algorithm * bus_factor(rule, ranks)};
}

}  // namespace perf
