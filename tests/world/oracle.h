// What a collective must answer: inputs made from a seed, and for each output element the set of
// answers that are right. Exact for integers, copies, max and min; within the documented rounding
// for sums and products of floats. Knows the public types alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gyre/gyre.h"

namespace world {

inline constexpr int kPreMul = -1;  // a reduction of its own beside gyreRedOp_t

std::uint64_t mix(std::uint64_t a, std::uint64_t b);

std::size_t bytes_of(gyreDataType_t type);
const char* name_of(gyreDataType_t type);
const char* name_of_op(int op);
bool is_real(gyreDataType_t type);
bool is_defined(int op, gyreDataType_t type);

// An element as its bits.
double decode(gyreDataType_t type, std::uint64_t bits);
std::uint64_t encode(gyreDataType_t type, double value);
std::uint64_t load(gyreDataType_t type, const std::byte* data, std::size_t index);
void store(gyreDataType_t type, std::byte* data, std::size_t index, std::uint64_t bits);

// Element `index` of what `rank` gives, of `ranks`, fit for `op`: no overflow but of integers.
std::uint64_t input(gyreDataType_t type, int op, std::uint64_t seed, int rank, int ranks,
                    std::size_t index);
// The pre-multiplied sum's scalar of a rank.
std::uint64_t scalar(gyreDataType_t type, std::uint64_t seed, int rank);

// True when `got` may be the reduction of `inputs`, rank by rank. `scalars` for kPreMul alone.
bool is_reduction(gyreDataType_t type, int op, std::span<const std::uint64_t> inputs,
                  std::span<const std::uint64_t> scalars, std::uint64_t got);

}  // namespace world
