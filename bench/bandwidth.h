// algbw and busbw. Knows the published factors. Does not know what was measured.
#pragma once

#include <cstddef>

namespace perf {

// What a byte of "size" costs on the busiest link of an ideal ring.
enum class BusRule {
  all_reduce,  // 2(n-1)/n
  shared,      // (n-1)/n: all_gather, reduce_scatter, alltoall(v), gather, scatter
  whole,       // 1: broadcast, reduce, sendrecv; hypercube, whose algbw counts (n-1) parts already
};

struct Bandwidth {
  double algorithm;  // GB/s, 1e9
  double bus;
};

// 0 bus bandwidth for one rank, whatever the rule: nothing crosses a bus.
double bus_factor(BusRule rule, int ranks);
Bandwidth bandwidth_of(BusRule rule, int ranks, std::size_t bytes, double seconds);

}  // namespace perf
