// How the kernel files of combine present themselves to combine.cc. Knows one finder per family of
// types; each is a translation unit, so that none takes long to compile for all instruction sets.
#pragma once

#include "exec/combine.h"

// SSSE3 without SSE4 was sold for one year of x86; scalable vectors cannot be members of structs,
// and every Arm core that has them has NEON too.
#if defined(GYRE_SANITIZED)
// Instrumented builds compile every target for minutes: AVX2 and the baseline say as much.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

namespace gyre {

Kernel find_integer_kernel(Type type, Op op);  // sum, prod, max, min, avg, premul_sum
Kernel find_wide_kernel(Type type, Op op);     // float32, float64
Kernel find_half_kernel(Type type, Op op);     // float16, bfloat16
Kernel find_eighth_kernel(Type type, Op op);   // float8e4m3, float8e5m2
Kernel find_bits_kernel(Op op);                // band, bor, bxor of any type

// One source to every target.
void copy(const CombineArgs& args);

}  // namespace gyre
