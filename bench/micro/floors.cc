// The plainest loops. Built with -O3 for the machine at hand (CMakeLists.txt).
#include "bench/micro/floors.h"

namespace gyre {

void add_floats(const float* __restrict a, const float* __restrict b, float* __restrict target,
                std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) target[i] = a[i] + b[i];
}

void add_floats_twice(const float* __restrict a, const float* __restrict b,
                      float* __restrict target, float* __restrict other, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) target[i] = other[i] = a[i] + b[i];
}

}  // namespace gyre
