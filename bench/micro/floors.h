// Plain loops, compiled for the machine at hand: what combine is measured against.
#pragma once

#include <cstddef>

namespace gyre {

void add_floats(const float* a, const float* b, float* target, std::size_t count);
void add_floats_twice(const float* a, const float* b, float* target, float* other,
                      std::size_t count);

}  // namespace gyre
