#include "bench/oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace perf {
namespace {

constexpr std::size_t kCount = 3000;

double decode(std::uint64_t bits, const TypeInfo& type) {
  const std::uint64_t fraction_steps = std::uint64_t{1} << type.mantissa_bits;
  const auto fraction = static_cast<double>(bits & (fraction_steps - 1));
  const auto field = static_cast<int>((bits >> type.mantissa_bits) &
                                      ((std::uint64_t{1} << type.exponent_bits) - 1));
  const int bias = (1 << (type.exponent_bits - 1)) - 1;
  const bool negative = (bits >> (type.exponent_bits + type.mantissa_bits)) != 0;
  const auto steps = static_cast<double>(fraction_steps);
  const double size = field == 0 ? std::ldexp(fraction / steps, 1 - bias)
                                 : std::ldexp(1 + fraction / steps, field - bias);
  return negative ? -size : size;
}

std::uint64_t element(const std::vector<std::byte>& data, std::size_t i, const TypeInfo& type) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &data[i * type.bytes], type.bytes);
  return bits;
}

std::vector<std::vector<std::byte>> operands_of(const Oracle& oracle, const TypeInfo& type,
                                                int ranks) {
  std::vector<std::vector<std::byte>> all;
  for (int r = 0; r < ranks; ++r) {
    all.emplace_back(kCount * type.bytes);
    oracle.fill_operand(all.back().data(), 0, kCount, r);
  }
  return all;
}

// One addition as a library would do it: in the type itself, rounded each time.
std::uint64_t combine(std::uint64_t a, std::uint64_t b, Op op, const TypeInfo& type) {
  const double x = decode(a, type), y = decode(b, type);
  const double result = op == Op::prod  ? x * y
                        : op == Op::max ? std::fmax(x, y)
                        : op == Op::min ? std::fmin(x, y)
                                        : x + y;
  return encode_float(result, type.exponent_bits, type.mantissa_bits);
}

TEST(BenchOracle, floats_are_exact_in_every_order_of_reduction) {
  for (const TypeInfo& type : all_types()) {
    if (type.kind != Kind::real) continue;
    for (Op op : {Op::sum, Op::prod, Op::max, Op::min}) {
      for (int ranks : {1, 2, 3, 8, 33}) {
        const Oracle oracle(type, op, ranks, 5);
        const auto in = operands_of(oracle, type, ranks);
        std::vector<std::byte> up(kCount * type.bytes), down(kCount * type.bytes);
        for (std::size_t i = 0; i < kCount; ++i) {
          std::uint64_t a = element(in.front(), i, type), b = element(in.back(), i, type);
          for (int r = 1; r < ranks; ++r) {
            a = combine(a, element(in[static_cast<std::size_t>(r)], i, type), op, type);
            b = combine(b, element(in[static_cast<std::size_t>(ranks - 1 - r)], i, type), op, type);
          }
          std::memcpy(&up[i * type.bytes], &a, type.bytes);
          std::memcpy(&down[i * type.bytes], &b, type.bytes);
        }
        EXPECT_EQ(oracle.wrong_reduced(up.data(), 0, kCount), 0)
            << type.name << " " << to_text(op) << " " << ranks;
        EXPECT_EQ(oracle.wrong_reduced(down.data(), 0, kCount), 0)
            << type.name << " " << to_text(op) << " " << ranks;
      }
    }
  }
}

TEST(BenchOracle, average_of_floats_allows_two_units_and_no_more) {
  const TypeInfo type = *find_type("bfloat16");
  const Oracle oracle(type, Op::avg, 3, 9);
  const auto in = operands_of(oracle, type, 3);
  std::vector<std::uint16_t> out(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    float sum = 0;
    for (const auto& one : in) sum += static_cast<float>(decode(element(one, i, type), type));
    out[i] = static_cast<std::uint16_t>(encode_float(sum * (1.0f / 3), 8, 7));
  }
  EXPECT_EQ(oracle.wrong_reduced(out.data(), 0, kCount), 0);
  std::vector<std::uint16_t> near = out, far = out;
  for (std::size_t i = 0; i < kCount; ++i) {
    near[i] = static_cast<std::uint16_t>(near[i] + 2);
    far[i] = static_cast<std::uint16_t>(far[i] + 3);
  }
  EXPECT_EQ(oracle.wrong_reduced(near.data(), 0, kCount), 0);
  EXPECT_EQ(oracle.wrong_reduced(far.data(), 0, kCount), static_cast<std::int64_t>(kCount));
}

TEST(BenchOracle, integers_wrap_and_their_average_truncates) {
  const TypeInfo type = *find_type("int8");
  for (Op op : {Op::sum, Op::avg, Op::prod, Op::max, Op::min, Op::band, Op::mulsum}) {
    const Oracle oracle(type, op, 3, 2);
    const auto in = operands_of(oracle, type, 3);
    std::vector<std::int8_t> out(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      int v[3];
      for (std::size_t r = 0; r < 3; ++r) v[r] = static_cast<std::int8_t>(in[r][i]);
      const auto sum = static_cast<std::int8_t>(v[0] + v[1] + v[2]);
      switch (op) {
        case Op::sum:
          out[i] = sum;
          break;
        case Op::avg:
          out[i] = static_cast<std::int8_t>(sum / 3);
          break;
        case Op::prod:
          out[i] = static_cast<std::int8_t>(v[0] * v[1] * v[2]);
          break;
        case Op::max:
          out[i] = static_cast<std::int8_t>(std::max({v[0], v[1], v[2]}));
          break;
        case Op::min:
          out[i] = static_cast<std::int8_t>(std::min({v[0], v[1], v[2]}));
          break;
        case Op::mulsum:
          out[i] = static_cast<std::int8_t>(v[0] + 2 * v[1] + v[2]);
          break;
        default:
          out[i] = static_cast<std::int8_t>(v[0] & v[1] & v[2]);
      }
    }
    EXPECT_EQ(oracle.wrong_reduced(out.data(), 0, kCount), 0) << to_text(op);
  }
}

TEST(BenchOracle, every_flipped_bit_is_one_wrong_element) {
  for (const TypeInfo& type : all_types()) {
    const Oracle oracle(type, Op::sum, 4, 1);
    std::vector<std::byte> data(kCount * type.bytes);
    oracle.fill_cargo(data.data(), 100, kCount, 2);
    EXPECT_EQ(oracle.wrong_cargo(data.data(), 100, kCount, 2), 0) << type.name;
    EXPECT_GT(oracle.wrong_cargo(data.data(), 100, kCount, 1), 0) << type.name;
    EXPECT_GT(oracle.wrong_cargo(data.data(), 101, kCount, 2), 0) << type.name;
    data[7 * type.bytes] ^= std::byte{1};
    data[(kCount - 1) * type.bytes] ^= std::byte{1};
    EXPECT_EQ(oracle.wrong_cargo(data.data(), 100, kCount, 2), 2) << type.name;
  }
}

TEST(BenchOracle, a_missing_rank_shows_in_every_type) {
  for (const TypeInfo& type : all_types()) {
    const Oracle oracle(type, Op::sum, 2, 3);
    std::vector<std::byte> data(kCount * type.bytes);
    oracle.fill_operand(data.data(), 0, kCount, 0);
    EXPECT_GT(oracle.wrong_reduced(data.data(), 0, kCount), 0) << type.name;
  }
}

TEST(BenchOracle, encoder_rounds_to_nearest_even_and_reaches_subnormals) {
  EXPECT_EQ(encode_float(1.0, 8, 23), 0x3f800000u);
  EXPECT_EQ(encode_float(-2.5, 8, 23), 0xc0200000u);
  EXPECT_EQ(encode_float(1.0 + 1.0 / 256, 8, 7), 0x3f80u);  // tie to even: down
  EXPECT_EQ(encode_float(1.0 + 3.0 / 256, 8, 7), 0x3f82u);  // tie to even: up
  EXPECT_EQ(encode_float(1.999, 4, 3), 0x40u);              // carries into the exponent
  EXPECT_EQ(encode_float(std::ldexp(1, -24), 5, 10), 1u);   // smallest half
  EXPECT_EQ(encode_float(448, 4, 3), 0x7eu);
}

}  // namespace
}  // namespace perf
