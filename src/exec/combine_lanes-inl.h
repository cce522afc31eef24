// How elements look in vector registers, compiled once per instruction set. Knows how a register of
// memory becomes accumulators and back, and what each operator does to two of them. Does not know
// counts, pointers' alignment or how many sources there are (combine_loop-inl.h).
//
// Everything here is elementwise and gives the same bits with any vector length: no fused multiply,
// no native max or float16 arithmetic, and each float result passes plain_nan().

// Highway's guard: once per instruction set.
#if defined(GYRE_EXEC_COMBINE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GYRE_EXEC_COMBINE_LANES_INL_H_
#undef GYRE_EXEC_COMBINE_LANES_INL_H_
#else
#define GYRE_EXEC_COMBINE_LANES_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "base/numeric.h"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gyre {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The fallback for machines without vectors has one-lane registers that cannot change lane size.
inline constexpr bool kOneLane = HWY_TARGET == HWY_SCALAR;
// Of the x86 sets, lower is newer.
inline constexpr bool kHardwareF16 = HWY_TARGET <= HWY_AVX2;
inline constexpr bool kMaskedMemory = HWY_TARGET <= HWY_AVX3;

// One register, or a pair of anything: nesting is how narrow types widen and how loops unroll.
template <class V>
struct One {
  V v;
};
template <class U>
struct Two {
  U low, high;
};
template <class F, class V>
HWY_INLINE One<V> map(F f, One<V> a) {
  return {f(a.v)};
}
template <class F, class U>
HWY_INLINE Two<U> map(F f, Two<U> a) {
  return {map(f, a.low), map(f, a.high)};
}
template <class F, class V>
HWY_INLINE One<V> zip(F f, One<V> a, One<V> b) {
  return {f(a.v, b.v)};
}
template <class F, class U>
HWY_INLINE Two<U> zip(F f, Two<U> a, Two<U> b) {
  return {zip(f, a.low, b.low), zip(f, a.high, b.high)};
}

// ---- Operators on two registers of accumulators ----

template <class V>
using Lane = hn::TFromV<V>;
template <class V>
using Unsigned = hn::RebindToUnsigned<hn::DFromV<V>>;

struct Add {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<Lane<V>>) {
      return hn::Add(a, b);
    } else {  // signed sums wrap, too
      const Unsigned<V> u;
      return hn::BitCast(hn::DFromV<V>(), hn::Add(hn::BitCast(u, a), hn::BitCast(u, b)));
    }
  }
};

// Products modulo 2^8 and 2^64, which vector units do not have.
template <class V>
HWY_INLINE V multiply_bytes(V a, V b) {
  const hn::RepartitionToWide<hn::DFromV<V>> wide;
  const auto a16 = hn::BitCast(wide, a), b16 = hn::BitCast(wide, b);
  const auto even = hn::And(hn::Mul(a16, b16), hn::Set(wide, 0xff));
  const auto odd = hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16));
  return hn::BitCast(hn::DFromV<V>(), hn::Or(even, hn::ShiftLeft<8>(odd)));
}
template <class V>
HWY_INLINE V multiply_longs(V a, V b) {
  const hn::Repartition<std::uint32_t, hn::DFromV<V>> half;
  const auto a32 = hn::BitCast(half, a), b32 = hn::BitCast(half, b);
  const auto a_high = hn::BitCast(half, hn::ShiftRight<32>(a));
  const auto b_high = hn::BitCast(half, hn::ShiftRight<32>(b));
  const auto cross = hn::Add(hn::MulEven(a_high, b32), hn::MulEven(a32, b_high));
  return hn::Add(hn::MulEven(a32, b32), hn::ShiftLeft<32>(cross));
}

struct Mul {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    using T = Lane<V>;
    const hn::DFromV<V> d;
    const Unsigned<V> u;
    if constexpr (std::is_floating_point_v<T>) {
      return hn::Mul(a, b);
    } else if constexpr (kOneLane) {
      const std::uint64_t x = static_cast<std::make_unsigned_t<T>>(hn::GetLane(a));
      const std::uint64_t y = static_cast<std::make_unsigned_t<T>>(hn::GetLane(b));
      return hn::Set(d, static_cast<T>(x * y));
    } else if constexpr (sizeof(T) == 1) {
      return hn::BitCast(d, multiply_bytes(hn::BitCast(u, a), hn::BitCast(u, b)));
    } else if constexpr (sizeof(T) == 8) {
      return hn::BitCast(d, multiply_longs(hn::BitCast(u, a), hn::BitCast(u, b)));
    } else {
      return hn::BitCast(d, hn::Mul(hn::BitCast(u, a), hn::BitCast(u, b)));
    }
  }
};

// Floats: a NaN in either operand stays; equal operands differ at most in the sign of zero, which
// "and" clears (max) and "or" keeps (min).
struct Max {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<Lane<V>>) {
      const auto ties = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), b);
      return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, ties);
    } else {
      return hn::Max(a, b);
    }
  }
};
struct Min {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<Lane<V>>) {
      const auto ties = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), b);
      return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, ties);
    } else {
      return hn::Min(a, b);
    }
  }
};

struct And {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const { return hn::And(a, b); }
};
struct Or {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const { return hn::Or(a, b); }
};
struct Xor {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const { return hn::Xor(a, b); }
};

// ---- After the reduction ----

// Which operand's NaN an addition returns depends on the order the compiler gives it: keep one NaN.
struct PlainNan {
  template <class V>
  HWY_INLINE V operator()(V v) const {
    const hn::DFromV<V> d;
    return hn::IfThenElse(hn::IsNaN(v), hn::Set(d, static_cast<Lane<V>>(__builtin_nan(""))), v);
  }
};

template <class V>
HWY_INLINE V total(One<V> a) { return a.v; }
template <class U>
HWY_INLINE auto total(Two<U> a) { return hn::Add(total(a.low), total(a.high)); }

// One test for the whole block: any NaN makes the total NaN (as opposite infinities do, harmlessly).
template <class U>
HWY_INLINE U plain_nan(U sum) {
  using V = decltype(total(sum));
  if constexpr (std::is_floating_point_v<Lane<V>>) {
    const bool suspect = !hn::AllFalse(hn::DFromV<V>(), hn::IsNaN(total(sum)));
    if (HWY_UNLIKELY(suspect)) return map(PlainNan(), sum);
  }
  return sum;
}

// Integers divide lane by lane, toward zero: no vector unit divides them.
struct DivideBy {
  int size;
  template <class V>
  HWY_INLINE V operator()(V v) const {
    using T = Lane<V>;
    const hn::DFromV<V> d;
    if constexpr (std::is_floating_point_v<T>) {
      return hn::Mul(v, hn::Set(d, T{1} / static_cast<T>(size)));
    } else {
      using Wide = std::common_type_t<T, int>;  // 200 ranks do not fit in an int8
      HWY_ALIGN T lanes[hn::MaxLanes(hn::DFromV<V>())];
      hn::Store(v, d, lanes);
      for (T& lane : lanes) lane = static_cast<T>(lane / static_cast<Wide>(size));
      return hn::Load(d, lanes);
    }
  }
};

// ---- Forms: what one register of memory holds ----

// Types that are added as they are.
template <class T>
struct Same {
  using Memory = T;
  using Scalar = T;  // what a scale is multiplied as
  static constexpr int kUnroll = 4;
  static Scalar scalar(Memory bits) { return bits; }
  template <class V>
  static HWY_INLINE One<V> decode(V v) { return {v}; }
  template <class D, class V>
  static HWY_INLINE V encode(D, One<V> accumulator) { return accumulator.v; }
};

// Small floats, accumulated in float32.
template <class Mini>
struct Small {
  using Memory = typename Mini::Bits;
  using Scalar = float;
  static constexpr int kUnroll = Mini::kBits == 16 ? 2 : 1;
  static constexpr int kShift = 23 - Mini::kMantissa;
  static constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - Mini::kBias) << 23;
  static Scalar scalar(Memory bits) { return Mini{bits}.to_float(); }

  template <class V>
  using Words = hn::Repartition<std::uint32_t, hn::DFromV<V>>;

  // Lanes of a word side by side in memory land in different registers; encode undoes it.
  template <class V>
  static HWY_INLINE auto decode(V v) {
    if constexpr (kOneLane) {
      using Floats = hn::Rebind<float, hn::DFromV<V>>;
      return One<hn::Vec<Floats>>{hn::Set(Floats(), Mini{hn::GetLane(v)}.to_float())};
    } else if constexpr (Mini::kExponent == 5 && Mini::kMantissa == 10 && kHardwareF16) {
      return decode_halves(v);
    } else {
      const Words<V> d;
      return decode_words(d, hn::BitCast(d, v));
    }
  }

  template <class D, class U>
  static HWY_INLINE hn::Vec<D> encode(D d, U accumulators) {
    if constexpr (kOneLane) {
      return hn::Set(d, Mini::from(hn::GetLane(accumulators.v)).bits);
    } else if constexpr (Mini::kExponent == 5 && Mini::kMantissa == 10 && kHardwareF16) {
      return encode_halves(d, accumulators);
    } else {
      return hn::BitCast(d, encode_words(accumulators));
    }
  }

 private:
  // UpperHalf and Combine are unqualified because the one-lane set does not declare them.
  template <class V>
  static HWY_INLINE auto decode_halves(V v) {
    const hn::Half<hn::DFromV<V>> half;
    const hn::RebindToFloat<Words<V>> floats;
    const hn::Rebind<hwy::float16_t, decltype(floats)> f16;
    using W = hn::Vec<hn::RebindToFloat<Words<V>>>;
    return Two<One<W>>{{hn::PromoteTo(floats, hn::BitCast(f16, hn::LowerHalf(half, v)))},
                       {hn::PromoteTo(floats, hn::BitCast(f16, UpperHalf(half, v)))}};
  }
  template <class D, class W>
  static HWY_INLINE hn::Vec<D> encode_halves(D d, Two<One<W>> a) {
    const hn::Half<D> half;
    const hn::Rebind<hwy::float16_t, hn::DFromV<W>> f16;
    return Combine(d, hn::BitCast(half, hn::DemoteTo(f16, a.high.v)),
                   hn::BitCast(half, hn::DemoteTo(f16, a.low.v)));
  }

  template <class D, class W>
  static HWY_INLINE auto decode_words(D d, W words) {
    using V = hn::Vec<hn::RebindToFloat<D>>;
    if constexpr (Mini::kExponent == 8) {  // bfloat16 is the upper half of float32
      const hn::RebindToFloat<D> floats;
      return Two<One<V>>{{hn::BitCast(floats, hn::ShiftLeft<16>(words))},
                         {hn::BitCast(floats, hn::And(words, hn::Set(d, 0xffff0000u)))}};
    } else if constexpr (Mini::kBits == 16) {
      return Two<One<V>>{{widen(d, hn::And(words, hn::Set(d, 0xffffu)))},
                         {widen(d, hn::ShiftRight<16>(words))}};
    } else {
      const auto byte = hn::Set(d, 0xffu);
      return Two<Two<One<V>>>{{{widen(d, hn::And(words, byte))},
                               {widen(d, hn::And(hn::ShiftRight<8>(words), byte))}},
                              {{widen(d, hn::And(hn::ShiftRight<16>(words), byte))},
                               {widen(d, hn::ShiftRight<24>(words))}}};
    }
  }

  template <class V>
  static HWY_INLINE auto encode_words(Two<One<V>> a) {
    const hn::RebindToUnsigned<hn::DFromV<V>> d;
    if constexpr (Mini::kExponent == 8) {
      return round_upper_halves(d, hn::BitCast(d, a.low.v), hn::BitCast(d, a.high.v));
    } else {
      return hn::Or(narrow(d, a.low.v), hn::ShiftLeft<16>(narrow(d, a.high.v)));
    }
  }
  template <class V>
  static HWY_INLINE auto encode_words(Two<Two<One<V>>> a) {
    const hn::RebindToUnsigned<hn::DFromV<V>> d;
    const auto low = hn::Or(narrow(d, a.low.low.v), hn::ShiftLeft<8>(narrow(d, a.low.high.v)));
    const auto high = hn::Or(narrow(d, a.high.low.v), hn::ShiftLeft<8>(narrow(d, a.high.high.v)));
    return hn::Or(low, hn::ShiftLeft<16>(high));
  }

  // bfloat16 of two float32 registers, rounded in 16-bit lanes so that both cost as much as one.
  // Needs: no NaN but the plain one, whose lower half is empty, so that it is never rounded up.
  template <class D, class W>
  static HWY_INLINE W round_upper_halves(D d, W low, W high) {
    const hn::Repartition<std::uint16_t, D> halves;
    const auto upper_mask = hn::Set(d, 0xffff0000u);
    const auto kept = hn::BitCast(
        halves, hn::OrAnd(hn::ShiftRight<16>(low), high, upper_mask));
    const auto dropped = hn::BitCast(
        halves, hn::OrAnd(hn::ShiftLeft<16>(high), low, hn::Set(d, 0x0000ffffu)));
    // Up when dropped > half, or dropped == half and kept is odd: exactly when the 17-bit sum of
    // dropped, 0x7fff and that odd bit carries, which the rounding average keeps as its top bit.
    const auto bias = hn::OrAnd(hn::Set(halves, 0x7ffe), kept, hn::Set(halves, 1));
    const auto up = hn::ShiftRight<15>(hn::AverageRound(dropped, bias));
    return hn::BitCast(d, hn::Add(kept, up));
  }

  // As Mini::to_float, without branches; code has nothing above its kBits.
  template <class D, class W>
  static HWY_INLINE auto widen(D d, W code) {
    const hn::RebindToFloat<D> floats;
    const auto magnitude = hn::And(code, hn::Set(d, Mini::kSign - 1));
    const auto sign = hn::ShiftLeft<32 - Mini::kBits>(hn::And(code, hn::Set(d, Mini::kSign)));
    const auto shifted = hn::ShiftLeft<kShift>(magnitude);
    const auto normal = hn::Add(shifted, hn::Set(d, kRebias));
    // The smallest normal plus the subnormal is exact, and so is taking the former off again.
    const auto least = hn::Set(d, kRebias + (1u << 23));
    const auto subnormal = hn::BitCast(d, hn::Sub(hn::BitCast(floats, hn::Or(shifted, least)),
                                                  hn::BitCast(floats, least)));
    const auto is_subnormal = hn::Lt(magnitude, hn::Set(d, 1u << Mini::kMantissa));
    const auto finite = hn::IfThenElse(is_subnormal, subnormal, normal);
    const auto special = hn::Or(normal, hn::Set(d, kFloatInfinityBits));
    const auto is_special = hn::Gt(magnitude, hn::Set(d, Mini::kLargest));
    return hn::BitCast(floats, hn::Or(hn::IfThenElse(is_special, special, finite), sign));
  }

  // As Mini::from, without branches; needs no NaN but the plain one.
  template <class D, class V>
  static HWY_INLINE auto narrow(D d, V v) {
    const hn::RebindToFloat<D> floats;
    const auto bits = hn::BitCast(d, v);
    const auto magnitude = hn::And(bits, hn::Set(d, 0x7fffffffu));
    const auto sign = hn::ShiftRight<32 - Mini::kBits>(hn::And(bits, hn::Set(d, 0x80000000u)));
    const auto odd = hn::And(hn::ShiftRight<kShift>(magnitude), hn::Set(d, 1u));
    const auto biased = hn::Add(magnitude, hn::Set(d, (1u << (kShift - 1)) - 1 - kRebias));
    const auto normal = hn::ShiftRight<kShift>(hn::Add(biased, odd));
    // Added to a float whose last place is our smallest subnormal, the hardware rounds for us.
    constexpr std::uint32_t kCoarse = kRebias + (static_cast<std::uint32_t>(kShift + 1) << 23);
    const auto coarse = hn::Set(d, kCoarse);
    const auto sum = hn::Add(hn::BitCast(floats, magnitude), hn::BitCast(floats, coarse));
    const auto subnormal = hn::Sub(hn::BitCast(d, sum), coarse);
    const auto is_subnormal = hn::Lt(magnitude, hn::Set(d, kRebias + (1u << 23)));
    const auto rounded = hn::Min(hn::IfThenElse(is_subnormal, subnormal, normal),
                                 hn::Set(d, Mini::kOverflow));
    if constexpr (!Mini::kInfinity) return hn::Or(rounded, sign);
    const auto is_nan = hn::Gt(magnitude, hn::Set(d, kFloatInfinityBits));
    return hn::Or(hn::IfThenElse(is_nan, hn::Set(d, Mini::kNan), rounded), sign);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace gyre
HWY_AFTER_NAMESPACE();

#endif  // GYRE_EXEC_COMBINE_LANES_INL_H_
