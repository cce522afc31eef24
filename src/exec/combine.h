// Arithmetic on host memory: takes one run of elements from every source, reduces them in the order
// given, gives the result to every target. Knows types, operators and vector registers. Does not
// know plans, slots, threads or ranks. The rules are gyreRedOp_t's; docs/numerics.md tells them at
// length.
//
// The same operands give the same bits on every path: any count, alignment, number of targets, in
// place or not, with any instruction set.
#pragma once

#include <cstddef>

#include "base/dtype.h"

namespace gyre {

inline constexpr int kCombineSourcesMax = 255;

struct CombineArgs {
  // Element-aligned. A target may be a source (the same address); any other overlap is undefined.
  void* const* targets = nullptr;
  int target_count = 0;
  const void* const* sources = nullptr;  // 1 .. kCombineSourcesMax; one source is a copy
  int source_count = 0;
  std::size_t count = 0;  // elements
  Type type = Type::u8;
  Op op = Op::sum;
  // avg: this combine completes the reduction over avg_size ranks, so that the division happens
  // here.
  bool final = false;
  int avg_size = 1;
  // premul_sum: per source where its scalar (one element of `type`) is, nullptr where the source is
  // already a sum. nullptr as a whole: no source is scaled.
  const void* const* scales = nullptr;
  // Write around the caches. Pays when targets are tens of MiB and not read soon: see
  // docs/numerics.md.
  bool streaming = false;
};

using Kernel = void (*)(const CombineArgs&);

// Kernel for the best instruction set of this machine; nullptr where !is_defined(op, type). It
// takes args.type and args.op as read. Finding costs a few nanoseconds, a caller with many chunks
// keeps it.
Kernel find_kernel(Type type, Op op);

// Needs: is_defined(args.op, args.type), unless source_count is 1 (a copy knows no operator).
void combine(const CombineArgs& args);

}  // namespace gyre
