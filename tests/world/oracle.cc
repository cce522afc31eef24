#include "world/oracle.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/numeric.h"

namespace world {

namespace {

using gyre::BF16;
using gyre::F16;
using gyre::F8E4M3;
using gyre::F8E5M2;

struct TypeFacts {
  const char* name;
  std::size_t bytes;
  int mantissa;  // 0: no float
  bool is_signed;
};
constexpr std::array<TypeFacts, gyreNumTypes> kTypes = {{{"int8", 1, 0, true},
                                                         {"uint8", 1, 0, false},
                                                         {"int32", 4, 0, true},
                                                         {"uint32", 4, 0, false},
                                                         {"int64", 8, 0, true},
                                                         {"uint64", 8, 0, false},
                                                         {"float16", 2, 10, true},
                                                         {"float32", 4, 23, true},
                                                         {"float64", 8, 52, true},
                                                         {"bfloat16", 2, 7, true},
                                                         {"float8e4m3", 1, 3, true},
                                                         {"float8e5m2", 1, 2, true},
                                                         {"bool", 1, 0, false}}};
const TypeFacts& facts(gyreDataType_t type) { return kTypes[static_cast<std::size_t>(type)]; }

// Smallest step of a type near zero: what rounding may lose there.
double step_near_zero(gyreDataType_t type) {
  switch (type) {
    case gyreFloat16:
      return std::ldexp(1, -24);
    case gyreBfloat16:
      return std::ldexp(1, -133);
    case gyreFloat32:
      return std::ldexp(1, -149);
    case gyreFloat8e4m3:
      return std::ldexp(1, -9);
    case gyreFloat8e5m2:
      return std::ldexp(1, -16);
    default:
      return std::ldexp(1, -1074);
  }
}

std::uint64_t cut(gyreDataType_t type, std::uint64_t bits) {
  return bytes_of(type) == 8 ? bits : bits & ((std::uint64_t{1} << 8 * bytes_of(type)) - 1);
}
// The integer that `bits` stand for, sign extended.
std::int64_t whole(gyreDataType_t type, std::uint64_t bits) {
  const int spare = 64 - 8 * static_cast<int>(bytes_of(type));
  return static_cast<std::int64_t>(bits << spare) >> spare;
}

std::uint64_t reduce_integers(gyreDataType_t type, int op, std::span<const std::uint64_t> in,
                              std::span<const std::uint64_t> scalars) {
  const bool is_signed = facts(type).is_signed;
  auto less = [&](std::uint64_t a, std::uint64_t b) {
    return is_signed ? whole(type, a) < whole(type, b) : a < b;
  };
  std::uint64_t out = op == kPreMul ? in[0] * scalars[0] : in[0];
  for (std::size_t r = 1; r < in.size(); ++r) {
    switch (op) {
      case gyreProd:
        out *= in[r];
        break;
      case gyreMax:
        out = less(out, in[r]) ? in[r] : out;
        break;
      case gyreMin:
        out = less(in[r], out) ? in[r] : out;
        break;
      case gyreBand:
        out &= in[r];
        break;
      case gyreBor:
        out |= in[r];
        break;
      case gyreBxor:
        out ^= in[r];
        break;
      case kPreMul:
        out += in[r] * scalars[r];
        break;
      default:
        out += in[r];
    }
  }
  out = cut(type, out);
  if (op != gyreAvg) return out;
  if (!is_signed) return out / in.size();
  return cut(type,
             static_cast<std::uint64_t>(whole(type, out) / static_cast<std::int64_t>(in.size())));
}

std::uint64_t reduce_bools(int op, std::span<const std::uint64_t> in) {
  std::uint64_t any = 0, all = 1, odd = 0;
  for (const std::uint64_t x : in) any |= x, all &= x, odd ^= x;
  if (op == gyreBxor) return odd;
  return op == gyreProd || op == gyreMin || op == gyreBand ? all : any;
}

bool is_real_reduction(gyreDataType_t type, int op, std::span<const std::uint64_t> in,
                       std::span<const std::uint64_t> scalars, std::uint64_t got) {
  const double unit = std::ldexp(1, -facts(type).mantissa - 1) * 1.001;
  const auto n = static_cast<double>(in.size());
  long double sum = 0, size = 0, product = 1, largest = -HUGE_VAL, smallest = HUGE_VAL;
  for (std::size_t r = 0; r < in.size(); ++r) {
    long double x = decode(type, in[r]);
    if (op == kPreMul) x *= decode(type, scalars[r]);
    sum += x;
    size += std::fabs(x);
    product *= x;
    largest = std::max(largest, x);
    smallest = std::min(smallest, x);
  }
  const long double answer = decode(type, got);
  const double tiny = n * step_near_zero(type);
  switch (op) {
    case gyreMax:
      return answer == largest;
    case gyreMin:
      return answer == smallest;
    case gyreProd:
      return std::fabs(answer - product) <= n * unit * std::fabs(product) + tiny;
    case gyreAvg:
      return std::fabs(answer - sum / n) <= (n + 2) * unit * size / n + tiny;
    case kPreMul:
      return std::fabs(answer - sum) <= (n + 1) * unit * size + tiny;
    default:
      return std::fabs(answer - sum) <= n * unit * size + tiny;
  }
}

}  // namespace

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::size_t bytes_of(gyreDataType_t type) { return facts(type).bytes; }
const char* name_of(gyreDataType_t type) { return facts(type).name; }
bool is_real(gyreDataType_t type) { return facts(type).mantissa > 0; }

const char* name_of_op(int op) {
  static constexpr const char* kNames[] = {"sum", "prod", "max", "min",
                                           "avg", "band", "bor", "bxor"};
  return op == kPreMul ? "premul_sum" : kNames[op];
}

bool is_defined(int op, gyreDataType_t type) {
  if (op == gyreBand || op == gyreBor || op == gyreBxor) return !is_real(type);
  return type != gyreBool || (op != gyreAvg && op != kPreMul);
}

double decode(gyreDataType_t type, std::uint64_t bits) {
  switch (type) {
    case gyreFloat16:
      return F16{static_cast<std::uint16_t>(bits)}.to_float();
    case gyreBfloat16:
      return BF16{static_cast<std::uint16_t>(bits)}.to_float();
    case gyreFloat8e4m3:
      return F8E4M3{static_cast<std::uint8_t>(bits)}.to_float();
    case gyreFloat8e5m2:
      return F8E5M2{static_cast<std::uint8_t>(bits)}.to_float();
    case gyreFloat32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case gyreFloat64:
      return std::bit_cast<double>(bits);
    default:
      return facts(type).is_signed ? static_cast<double>(whole(type, bits))
                                   : static_cast<double>(bits);
  }
}

std::uint64_t encode(gyreDataType_t type, double value) {
  const auto narrow = static_cast<float>(value);
  switch (type) {
    case gyreFloat16:
      return F16::from(narrow).bits;
    case gyreBfloat16:
      return BF16::from(narrow).bits;
    case gyreFloat8e4m3:
      return F8E4M3::from(narrow).bits;
    case gyreFloat8e5m2:
      return F8E5M2::from(narrow).bits;
    case gyreFloat32:
      return std::bit_cast<std::uint32_t>(narrow);
    case gyreFloat64:
      return std::bit_cast<std::uint64_t>(value);
    default:
      return cut(type, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
  }
}

std::uint64_t load(gyreDataType_t type, const std::byte* data, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, data + index * bytes_of(type), bytes_of(type));
  return bits;
}

void store(gyreDataType_t type, std::byte* data, std::size_t index, std::uint64_t bits) {
  std::memcpy(data + index * bytes_of(type), &bits, bytes_of(type));
}

std::uint64_t input(gyreDataType_t type, int op, std::uint64_t seed, int rank, int ranks,
                    std::size_t index) {
  const std::uint64_t here = mix(seed, index);
  const std::uint64_t random = mix(here, static_cast<std::uint64_t>(rank));
  if (type == gyreBool) return random & 1;
  if (!is_real(type)) return cut(type, random);
  const double fraction = static_cast<double>(random >> 11) * 0x1p-53;  // in [0, 1)
  if (op != gyreProd) return encode(type, 8 * fraction - 4);
  // Two ranks scale, the rest only turn the sign: no order of multiplying leaves any type's range.
  const auto n = static_cast<std::uint64_t>(ranks);
  const auto me = static_cast<std::uint64_t>(rank);
  const bool scales = here % n == me || (here >> 20) % n == me;
  return encode(type, (random & 1 ? 1 : -1) * (scales ? 0.5 + 1.5 * fraction : 1.0));
}

std::uint64_t scalar(gyreDataType_t type, std::uint64_t seed, int rank) {
  const std::uint64_t random = mix(seed, 0x5ca1a + static_cast<std::uint64_t>(rank));
  static constexpr double kScalars[] = {0.5, 2.0, 1.0 / 3};
  return is_real(type) ? encode(type, kScalars[random % 3]) : cut(type, random);
}

bool is_reduction(gyreDataType_t type, int op, std::span<const std::uint64_t> inputs,
                  std::span<const std::uint64_t> scalars, std::uint64_t got) {
  if (type == gyreBool) return got == reduce_bools(op, inputs);
  if (!is_real(type)) return got == reduce_integers(type, op, inputs, scalars);
  return is_real_reduction(type, op, inputs, scalars, got);
}

}  // namespace world
