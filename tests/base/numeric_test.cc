// The small formats against their definition, worked out in double arithmetic.
#include "base/numeric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace gyre {
namespace {

template <class Format>
class Numeric : public ::testing::Test {};
using Formats = ::testing::Types<F16, BF16, F8E4M3, F8E5M2>;
TYPED_TEST_SUITE(Numeric, Formats);

// What a pattern means, from the format's definition: nothing shared with the code under test.
template <class Format>
double meaning(unsigned pattern) {
  constexpr int kM = Format::kMantissa, kE = Format::kExponent, kBias = (1 << (kE - 1)) - 1;
  const unsigned mantissa = pattern & ((1u << kM) - 1), field = (pattern >> kM) & ((1u << kE) - 1);
  const double sign = (pattern >> (kM + kE)) != 0 ? -1.0 : 1.0;
  const bool top = field == (1u << kE) - 1;
  if (Format::kInfinity && top)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  if (top && mantissa == (1u << kM) - 1) return std::nan("");
  const int exponent = field == 0 ? 1 - kBias : static_cast<int>(field) - kBias;
  return sign * std::ldexp((field == 0 ? 0 : 1 << kM) + static_cast<int>(mantissa), exponent - kM);
}

// Rounds in double: exact, since float32 has fewer bits than double by far.
template <class Format>
double rounded(float value) {
  if (std::isnan(value) || std::isinf(value)) return value;
  constexpr int kM = Format::kMantissa, kBias = (1 << (Format::kExponent - 1)) - 1;
  const int exponent = value == 0 ? 1 - kBias : std::max(std::ilogb(value), 1 - kBias);
  const double spacing = std::ldexp(1.0, exponent - kM);
  const double result = std::nearbyint(static_cast<double>(value) / spacing) * spacing;
  const double largest = Format::kBits == 8 ? (Format::kInfinity ? 57344.0 : 448.0)
                         : kM == 10         ? 65504.0
                                            : 0x1.fep127;
  if (std::fabs(result) <= largest) return result;
  return std::copysign(std::numeric_limits<double>::infinity(), result);
}

template <class Format>
void expect_rounds(float value) {
  const Format got = Format::from(value);
  double want = rounded<Format>(value);
  if (std::isinf(want) && !Format::kInfinity) want = std::nan("");
  const double back = meaning<Format>(got.bits);
  if (std::isnan(want)) {
    ASSERT_TRUE(std::isnan(back)) << value << " -> " << +got.bits;
  } else {
    ASSERT_EQ(back, want) << value << " -> " << +got.bits;
    ASSERT_EQ(std::signbit(back), std::signbit(value)) << value;
  }
}

TYPED_TEST(Numeric, every_pattern_means_what_the_format_says) {
  for (unsigned pattern = 0; pattern < 1u << TypeParam::kBits; ++pattern) {
    const TypeParam number{static_cast<typename TypeParam::Bits>(pattern)};
    const double want = meaning<TypeParam>(pattern);
    const float got = number.to_float();
    ASSERT_EQ(number.is_nan(), std::isnan(want)) << pattern;
    if (std::isnan(want)) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got), kFloatNanBits) << pattern;
      ASSERT_EQ(TypeParam::from(got).bits, TypeParam::kNan) << pattern;
    } else {
      ASSERT_EQ(static_cast<double>(got), want) << pattern;
      ASSERT_EQ(std::signbit(got), std::signbit(want)) << pattern;
      ASSERT_EQ(TypeParam::from(got).bits, pattern);
    }
  }
}

// The only places where rounding can go wrong: at, just below and just above each halfway point.
TYPED_TEST(Numeric, halfway_points_round_to_even) {
  for (unsigned pattern = 0; pattern < 1u << (TypeParam::kBits - 1); ++pattern) {
    const double low = meaning<TypeParam>(pattern), high = meaning<TypeParam>(pattern + 1);
    if (!std::isfinite(low)) break;
    // Past the largest number the halfway point is where the next one would have been.
    const double step = std::isfinite(high) ? high - low : low - meaning<TypeParam>(pattern - 1);
    const float half = static_cast<float>(low + step / 2);
    const float infinity = std::numeric_limits<float>::infinity();
    for (float sign : {1.0f, -1.0f}) {
      expect_rounds<TypeParam>(sign * half);
      expect_rounds<TypeParam>(sign * std::nextafter(half, 0.0f));
      expect_rounds<TypeParam>(sign * std::nextafter(half, infinity));
    }
  }
}

TYPED_TEST(Numeric, random_floats_round_to_nearest) {
  std::mt19937 random(7);
  for (int i = 0; i < 2'000'000; ++i)
    expect_rounds<TypeParam>(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
}

TEST(NumericLimits, overflow_is_infinity_or_nan_and_never_a_number) {
  EXPECT_EQ(F16::from(65504.0f).bits, 0x7bff);
  EXPECT_EQ(F16::from(65519.0f).bits, 0x7bff);
  EXPECT_EQ(F16::from(65520.0f).bits, 0x7c00);
  EXPECT_EQ(F16::from(-1e30f).bits, 0xfc00);
  EXPECT_EQ(BF16::from(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(F8E5M2::from(61440.0f).bits, 0x7c);
  EXPECT_EQ(F8E4M3::from(448.0f).bits, 0x7e);
  EXPECT_EQ(F8E4M3::from(464.0f).bits, 0x7e);
  EXPECT_EQ(F8E4M3::from(464.1f).bits, 0x7f);
  EXPECT_EQ(F8E4M3::from(-1e9f).bits, 0xff);
  EXPECT_EQ(F8E4M3::from(std::numeric_limits<float>::infinity()).bits, 0x7f);
}

TEST(NumericLimits, conversions_are_constants) {
  static_assert(F16::from(1.0f).bits == 0x3c00);
  static_assert(BF16::from(-2.0f).bits == 0xc000);
  static_assert(F8E4M3{0x08}.to_float() == 0.015625f);
  static_assert(F8E5M2{0x01}.to_float() == 0x1p-16f);
  static_assert(F16{0x0001}.to_float() == 0x1p-24f);
}

}  // namespace
}  // namespace gyre
