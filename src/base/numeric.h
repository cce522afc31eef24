// Small floating-point formats: float16, bfloat16, float8e4m3, float8e5m2, to and from float32.
// Knows bit layouts and rounding. Does not know vectors (exec/combine does the same arithmetic on
// registers and is tested against this) or reductions.
//
// Rounding is to nearest, ties to even, in integers alone, so neither the rounding mode nor
// flush-to-zero of the calling thread matters. A value past the largest finite one becomes
// infinity, and in float8e4m3, which has none, NaN: an overflow must stay visible, as it does in
// float16. (CUDA's converting constructors saturate instead; a sum that silently stops at 448 looks
// like a result.)
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace gyre {

inline constexpr std::uint32_t kFloatInfinityBits = 0x7f800000;
inline constexpr std::uint32_t kFloatNanBits = 0x7fc00000;  // the one NaN that our arithmetic gives

// One sign bit, kExponentBits, kMantissaBits. Without an infinity only all ones are NaN.
template <int kExponentBits, int kMantissaBits, bool kHasInfinity>
struct MiniFloat {
  static constexpr int kBits = 1 + kExponentBits + kMantissaBits;
  using Bits = std::conditional_t<kBits == 8, std::uint8_t, std::uint16_t>;

  static constexpr int kExponent = kExponentBits;
  static constexpr int kMantissa = kMantissaBits;
  static constexpr bool kInfinity = kHasInfinity;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr std::uint32_t kSign = 1u << (kBits - 1);
  // Magnitude after the largest finite one: infinity, or NaN where there is none.
  static constexpr std::uint32_t kOverflow =
      kHasInfinity ? ((1u << kExponentBits) - 1) << kMantissaBits : kSign - 1;
  static constexpr std::uint32_t kLargest = kOverflow - 1;
  static constexpr std::uint32_t kNan =
      kHasInfinity ? kOverflow | 1u << (kMantissaBits - 1) : kOverflow;

  Bits bits;

  constexpr bool operator==(const MiniFloat&) const = default;

  // Every NaN becomes kNan.
  static constexpr MiniFloat from(float value) {
    const std::uint32_t wide = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = wide & 0x7fffffffu;
    if (magnitude > kFloatInfinityBits) return {static_cast<Bits>(kNan)};
    const std::uint32_t sign = (wide >> 31) << (kBits - 1);
    return {static_cast<Bits>(sign | round(magnitude))};
  }

  // Exact; a NaN becomes kFloatNanBits.
  constexpr float to_float() const {
    const std::uint32_t magnitude = bits & (kSign - 1);
    const std::uint32_t sign = (bits & kSign) << (32 - kBits);
    return std::bit_cast<float>(is_nan() ? kFloatNanBits : sign | widen(magnitude));
  }

  constexpr bool is_nan() const {
    const std::uint32_t magnitude = bits & (kSign - 1);
    return kHasInfinity ? magnitude > kOverflow : magnitude == kOverflow;
  }

 private:
  static constexpr std::uint32_t round(std::uint32_t magnitude) {
    const std::uint32_t field = magnitude >> 23;
    // value = significand * 2^(exponent - kBias - 23), exponent as this format biases it.
    const std::uint32_t significand = (magnitude & 0x7fffffu) | (field != 0 ? 0x800000u : 0u);
    const int exponent = static_cast<int>(std::max(field, 1u)) - 127 + kBias;
    // Below the normal range fewer bits remain, down to none.
    const int drop = 23 - kMantissaBits + std::max(0, 1 - exponent);
    if (drop > 24) return 0;  // less than half of the smallest
    const std::uint32_t odd = (significand >> drop) & 1u;
    const std::uint32_t kept = (significand + (1u << (drop - 1)) - 1 + odd) >> drop;
    // The leading one, and a carry out of the mantissa, step the exponent by themselves.
    const std::uint32_t base = static_cast<std::uint32_t>(std::max(exponent, 1) - 1);
    return std::min((base << kMantissaBits) + kept, kOverflow);
  }

  static constexpr std::uint32_t widen(std::uint32_t magnitude) {
    constexpr int kShift = 23 - kMantissaBits;
    if constexpr (kExponentBits == 8) return magnitude << kShift;
    if (kHasInfinity && magnitude == kOverflow) return kFloatInfinityBits;
    constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
    if (magnitude >> kMantissaBits != 0) return (magnitude << kShift) + kRebias;
    if (magnitude == 0) return 0;
    // Subnormal: bring the leading one to the implicit place, one exponent step per shift.
    const int shift = kMantissaBits + 1 - static_cast<int>(std::bit_width(magnitude));
    return (magnitude << (kShift + shift)) + kRebias - (static_cast<std::uint32_t>(shift) << 23);
  }
};

using F16 = MiniFloat<5, 10, true>;
using BF16 = MiniFloat<8, 7, true>;
using F8E4M3 = MiniFloat<4, 3, false>;  // the OCP format: largest 448, NaN 0x7f and 0xff
using F8E5M2 = MiniFloat<5, 2, true>;   // the OCP format: largest 57344

}  // namespace gyre
