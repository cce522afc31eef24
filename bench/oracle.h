// What every rank puts in and what must come out. Knows hash(seed, rank, index) and arithmetic of
// its own. Does not know gyre: a shared mistake could not show.
//
// Inputs of reductions are drawn so that every partial sum or product, in any order and grouping,
// is exact in the type itself: small integers on as many ranks as the mantissa carries, powers of
// two for products, full-range bits for integers (which wrap). So results compare bit for bit; the
// one exception is the average of floats, which is allowed 2 units in the last place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bench/types.h"

namespace perf {

// Nearest value (ties to even) of a format with sign, exponent and mantissa; within its range.
std::uint64_t encode_float(double value, int exponent_bits, int mantissa_bits);

// The scalar of rank r in a pre-multiplied sum.
constexpr int scalar_of(int rank) { return 1 + rank % 2; }

class Oracle {
 public:
  Oracle(const TypeInfo& type, Op op, int ranks, std::uint64_t seed);

  // Elements [first, first+count) of what `rank` contributes to a reduction.
  void fill_operand(void* out, std::size_t first, std::size_t count, int rank) const;
  // Elements of `rank`'s data where it is only moved: arbitrary bits.
  void fill_cargo(void* out, std::size_t first, std::size_t count, int rank) const;

  // Elements of `got` that differ from the reduction over all ranks, or from `rank`'s cargo.
  std::int64_t wrong_reduced(const void* got, std::size_t first, std::size_t count) const;
  std::int64_t wrong_cargo(const void* got, std::size_t first, std::size_t count, int rank) const;

 private:
  std::uint64_t operand(std::uint64_t hash, int rank) const;
  std::uint64_t reduced(std::uint64_t hash) const;
  std::uint64_t reduced_integer(std::uint64_t hash) const;
  std::uint64_t reduced_real(std::uint64_t hash) const;
  std::uint64_t divided(std::uint64_t wrapped) const;
  std::uint64_t hash_of(std::size_t index) const;
  std::int64_t step_of(std::uint64_t hash, int rank) const;
  bool is_active(std::uint64_t hash, int rank) const;
  std::int64_t extended(std::uint64_t bits) const;
  template <class Draw>
  void write(void* out, std::size_t first, std::size_t count, const Draw& draw) const;
  template <class Draw>
  std::int64_t compare(const void* got, std::size_t first, std::size_t count,
                       const Draw& draw) const;

  static constexpr int kStepsMax = 2048;
  TypeInfo type_;
  Op op_;
  int ranks_;
  std::uint64_t seed_;
  std::uint64_t mask_;
  int magnitude_ = 0;  // operands are integers in [-magnitude, magnitude]
  int window_ = 0;     // ranks that contribute more than the neutral element, per index
  int tolerance_ = 0;  // units in the last place
  std::array<std::uint64_t, 2 * kStepsMax + 1> operand_bits_{};  // of a step, offset kStepsMax
  std::array<std::uint64_t, 2 * kStepsMax + 1> result_bits_{};
};

}  // namespace perf
