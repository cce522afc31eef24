// The arithmetic users rely on, rule by rule, in numbers a person can check.
#include <gtest/gtest.h>

#include "exec/combine.h"
#include "exec/combine_oracle.h"

namespace gyre {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Reduces `columns` (one operand per source) over 37 equal elements, so that whole registers and
// tails both work, and gives the element all of them must equal.
template <class T>
T combined(Type type, Op op, const std::vector<T>& columns, int divide_by = 0,
           const std::vector<const void*>& scales = {}) {
  constexpr std::size_t kCount = 37;
  std::vector<std::vector<T>> rows;
  std::vector<const void*> from;
  for (T column : columns) rows.emplace_back(kCount, column);
  for (const std::vector<T>& row : rows) from.push_back(row.data());
  std::vector<T> result(kCount);
  void* to = result.data();
  combine({.targets = &to,
           .target_count = 1,
           .sources = from.data(),
           .source_count = static_cast<int>(from.size()),
           .count = kCount,
           .type = type,
           .op = op,
           .final = divide_by != 0,
           .avg_size = divide_by,
           .scales = scales.empty() ? nullptr : scales.data()});
  for (const T& element : result)
    EXPECT_EQ(std::memcmp(&element, &result[0], sizeof(T)), 0) << "elements differ";
  return result[0];
}

template <class T>
std::vector<T> all_from(const std::vector<float>& values) {
  std::vector<T> narrow;
  for (float value : values) narrow.push_back(T::from(value));
  return narrow;
}

TEST(CombineRules, bfloat16_accumulates_widely_and_rounds_once) {
  const auto values = all_from<BF16>({256, 1, 1, 1, 1, 1, 1, 1});
  // 263 lies between 262 and 264, a tie that goes to the even one; one hop at a time it stays 256.
  EXPECT_EQ(combined(Type::bf16, Op::sum, values).to_float(), 264.0f);
  EXPECT_EQ(combined(Type::bf16, Op::sum, all_from<BF16>({256, 1})).to_float(), 256.0f);
  EXPECT_EQ(combined(Type::f16, Op::sum, all_from<F16>({2048, 1, 1, 1})).to_float(), 2052.0f);
  EXPECT_EQ(combined(Type::f8e4m3, Op::sum, all_from<F8E4M3>({16, 1, 1})).to_float(), 18.0f);
  EXPECT_EQ(combined(Type::f8e5m2, Op::sum, all_from<F8E5M2>({8, 1, 1})).to_float(), 10.0f);
}

TEST(CombineRules, float16_average_of_the_largest_is_the_largest) {
  EXPECT_EQ(combined(Type::f16, Op::avg, all_from<F16>(std::vector<float>(10, 65504)), 10).bits,
            F16::kLargest);
  EXPECT_EQ(combined(Type::f8e4m3, Op::avg, all_from<F8E4M3>(std::vector<float>(10, 448)), 10).bits,
            F8E4M3::kLargest);
  EXPECT_EQ(
      combined(Type::f8e5m2, Op::avg, all_from<F8E5M2>(std::vector<float>(10, 57344)), 10).bits,
      F8E5M2::kLargest);
}

TEST(CombineRules, average_divides_in_the_last_combine_alone) {
  EXPECT_EQ(combined(Type::f32, Op::avg, std::vector<float>{1, 2}), 3.0f);
  EXPECT_EQ(combined(Type::f32, Op::avg, std::vector<float>{1, 2}, 4), 0.75f);
  EXPECT_EQ(combined(Type::f64, Op::avg, std::vector<double>{1}, 4), 0.25);
}

TEST(CombineRules, float_overflow_is_infinity_and_nan_where_there_is_none) {
  EXPECT_EQ(combined(Type::f16, Op::sum, all_from<F16>({65504, 65504})).to_float(), kInfinity);
  EXPECT_EQ(combined(Type::f16, Op::sum, all_from<F16>({-65504, -65504})).to_float(), -kInfinity);
  EXPECT_EQ(combined(Type::f16, Op::sum, all_from<F16>({65504, 65504, -65504})).to_float(), 65504);
  EXPECT_EQ(combined(Type::bf16, Op::sum, std::vector<BF16>(2, {0x7f7f})).to_float(), kInfinity);
  EXPECT_EQ(combined(Type::f8e5m2, Op::sum, all_from<F8E5M2>({57344, 57344})).to_float(),
            kInfinity);
  EXPECT_TRUE(combined(Type::f8e4m3, Op::sum, all_from<F8E4M3>({448, 448})).is_nan());
  EXPECT_EQ(combined(Type::f32, Op::prod, std::vector<float>{1e30f, -1e30f}), -kInfinity);
}

TEST(CombineRules, integers_wrap) {
  EXPECT_EQ(combined<std::int8_t>(Type::i8, Op::sum, {120, 100}), -36);
  EXPECT_EQ(combined<std::uint8_t>(Type::u8, Op::sum, {200, 100}), 44);
  EXPECT_EQ(combined<std::int8_t>(Type::i8, Op::prod, {-128, -1}), -128);
  EXPECT_EQ(combined<std::int32_t>(Type::i32, Op::sum, {INT32_MAX, 1}), INT32_MIN);
  EXPECT_EQ(combined<std::int32_t>(Type::i32, Op::prod, {65536, 65536, 3}), 0);
  EXPECT_EQ(combined<std::int64_t>(Type::i64, Op::sum, {INT64_MIN, -1}), INT64_MAX);
  EXPECT_EQ(combined<std::uint64_t>(Type::u64, Op::prod, {0xffffffffffffffffu, 0x123456789u}),
            0xfffffffedcba9877u);
}

TEST(CombineRules, integer_average_truncates_toward_zero) {
  EXPECT_EQ(combined<std::int32_t>(Type::i32, Op::avg, {-4, -3}, 2), -3);
  EXPECT_EQ(combined<std::int32_t>(Type::i32, Op::avg, {4, 3}, 2), 3);
  EXPECT_EQ(combined<std::int8_t>(Type::i8, Op::avg, {120, 100}, 2), -18);
  EXPECT_EQ(combined<std::int8_t>(Type::i8, Op::avg, {-128, 1}, 200), 0);
  EXPECT_EQ(combined<std::uint8_t>(Type::u8, Op::avg, {250}, 3), 83);
  EXPECT_EQ(combined<std::uint64_t>(Type::u64, Op::avg, {0xffffffffffffffffu}, 2),
            0x7fffffffffffffffu);
}

template <class F>
void expect_extremes(Type type, F from) {
  const auto bits = [&](Op op, float a, float b) {
    const auto result = combined(type, op, std::vector{from(a), from(b)});
    std::uint64_t pattern = 0;
    std::memcpy(&pattern, &result, sizeof(result));
    return pattern;
  };
  const auto pattern_of = [&](float value) { return bits(Op::max, value, value); };
  for (Op op : {Op::max, Op::min}) {
    const float zero = op == Op::max ? 0.0f : -0.0f;
    EXPECT_EQ(bits(op, 0.0f, -0.0f), pattern_of(zero)) << to_text(type);
    EXPECT_EQ(bits(op, -0.0f, 0.0f), pattern_of(zero)) << to_text(type);
    for (float other : {1.0f, -1.0f, 0.0f, kInfinity, -kInfinity}) {
      EXPECT_EQ(bits(op, NAN, other), pattern_of(NAN)) << to_text(type) << other;
      EXPECT_EQ(bits(op, other, -NAN), pattern_of(NAN)) << to_text(type) << other;
    }
    EXPECT_EQ(bits(op, 1.0f, -2.0f), pattern_of(op == Op::max ? 1.0f : -2.0f)) << to_text(type);
  }
  EXPECT_NE(pattern_of(0.0f), pattern_of(-0.0f)) << to_text(type);
}

TEST(CombineRules, extremes_keep_nan_and_order_signed_zeros) {
  expect_extremes(Type::f16, F16::from);
  expect_extremes(Type::bf16, BF16::from);
  expect_extremes(Type::f8e4m3, F8E4M3::from);
  expect_extremes(Type::f8e5m2, F8E5M2::from);
  expect_extremes(Type::f32, [](float value) { return value; });
  expect_extremes(Type::f64, [](float value) { return static_cast<double>(value); });
}

TEST(CombineRules, a_nan_from_arithmetic_is_always_the_same_nan) {
  const auto bits = [](std::initializer_list<std::uint32_t> sources, Op op) {
    std::vector<float> values;
    for (std::uint32_t source : sources) values.push_back(std::bit_cast<float>(source));
    return std::bit_cast<std::uint32_t>(combined(Type::f32, op, values));
  };
  EXPECT_EQ(bits({0xffc01234, 0x7fc05678}, Op::sum), kFloatNanBits);
  EXPECT_EQ(bits({0x7f801234, 0x3f800000}, Op::prod), kFloatNanBits);
  EXPECT_EQ(bits({0x7f800000, 0xff800000}, Op::sum), kFloatNanBits);
  EXPECT_EQ(bits({0xffc01234}, Op::sum), 0xffc01234) << "a copy keeps every bit";
}

template <class T>
T plain(float value) {
  return narrowed<T>(static_cast<decltype(widened(T{}))>(value));
}

template <class T>
void expect_scales(Type type) {
  for (float by : {0.5f, 2.0f, 1.0f / 3}) {
    // The scalar lies where no T could: it may come from anywhere in a user's struct.
    unsigned char scalar[sizeof(T) + 1];
    const T in_type = plain<T>(by);
    std::memcpy(scalar + 1, &in_type, sizeof(T));
    const T got = combined(type, Op::premul_sum, std::vector{plain<T>(6), plain<T>(1)}, 0,
                           {scalar + 1, nullptr});
    // Rounded to T before it is added, as peers will see it.
    const T want = narrowed<T>(widened(narrowed<T>(widened(plain<T>(6)) * widened(in_type))) + 1);
    EXPECT_EQ(widened(got), widened(want)) << to_text(type) << " " << by;
  }
}

TEST(CombineRules, scalar_of_a_premultiplied_sum_is_read_in_its_own_type) {
  expect_scales<F16>(Type::f16);
  expect_scales<BF16>(Type::bf16);
  expect_scales<F8E4M3>(Type::f8e4m3);
  expect_scales<F8E5M2>(Type::f8e5m2);
  expect_scales<float>(Type::f32);
  expect_scales<double>(Type::f64);
}

TEST(CombineRules, premultiplied_integers_wrap_and_a_single_source_is_scaled_too) {
  const std::int8_t three = 3;
  EXPECT_EQ(combined<std::int8_t>(Type::i8, Op::premul_sum, {100, 1}, 0, {&three, nullptr}), 45);
  EXPECT_EQ(combined<std::int8_t>(Type::i8, Op::premul_sum, {-5}, 0, {&three}), -15);
  EXPECT_EQ(combined<std::int8_t>(Type::i8, Op::premul_sum, {-5, 2}), -3);
}

TEST(CombineRules, float_sums_stay_within_their_bound) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<float> wide;
    std::vector<BF16> narrow;
    double exact = 0, size = 0;
    for (int s = 0; s < 9; ++s) {
      narrow.push_back(BF16::from(static_cast<float>(uniform(random))));
      wide.push_back(narrow.back().to_float());
      exact += static_cast<double>(wide.back());
      size += std::fabs(static_cast<double>(wide.back()));
    }
    const double sum = static_cast<double>(combined(Type::f32, Op::sum, wide));
    EXPECT_LE(std::fabs(sum - exact), 8 * 0x1p-24 * size);
    const double once = static_cast<double>(combined(Type::bf16, Op::sum, narrow).to_float());
    EXPECT_LE(std::fabs(once - exact), 0x1p-8 * std::fabs(exact) + 9 * 0x1p-24 * size);
  }
}

}  // namespace
}  // namespace gyre
