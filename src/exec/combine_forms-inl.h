// Forms: what a register of memory holds, compiled once per instruction set. Knows how it becomes
// accumulators and back. Does not know operators (combine_lanes-inl.h) or counts
// (combine_loop-inl.h). The small floats do on registers what base/numeric.h does on one number.

// Highway's guard: once per instruction set.
#if defined(GYRE_EXEC_COMBINE_FORMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GYRE_EXEC_COMBINE_FORMS_INL_H_
#undef GYRE_EXEC_COMBINE_FORMS_INL_H_
#else
#define GYRE_EXEC_COMBINE_FORMS_INL_H_
#endif

#include "base/numeric.h"
#include "exec/combine_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gyre {
namespace HWY_NAMESPACE {

// Types that are added as they are.
template <class T>
struct Same {
  using Memory = T;
  using Scalar = T;  // what a scale is multiplied as
  static constexpr int kUnroll = 4;
  static Scalar scalar(Memory bits) { return bits; }
  template <class V>
  static HWY_INLINE One<V> decode(V v) {
    return {v};
  }
  template <class D, class V>
  static HWY_INLINE V encode(D, One<V> accumulator) {
    return accumulator.v;
  }
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
      return Two<Two<One<V>>>{
          {{widen(d, hn::And(words, byte))}, {widen(d, hn::And(hn::ShiftRight<8>(words), byte))}},
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
    const auto kept = hn::BitCast(halves, hn::OrAnd(hn::ShiftRight<16>(low), high, upper_mask));
    const auto dropped =
        hn::BitCast(halves, hn::OrAnd(hn::ShiftLeft<16>(high), low, hn::Set(d, 0x0000ffffu)));
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
    const auto subnormal = hn::BitCast(
        d, hn::Sub(hn::BitCast(floats, hn::Or(shifted, least)), hn::BitCast(floats, least)));
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
    const auto rounded =
        hn::Min(hn::IfThenElse(is_subnormal, subnormal, normal), hn::Set(d, Mini::kOverflow));
    if constexpr (!Mini::kInfinity) return hn::Or(rounded, sign);
    const auto is_nan = hn::Gt(magnitude, hn::Set(d, kFloatInfinityBits));
    return hn::Or(hn::IfThenElse(is_nan, hn::Set(d, Mini::kNan), rounded), sign);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace gyre
HWY_AFTER_NAMESPACE();

#endif  // GYRE_EXEC_COMBINE_FORMS_INL_H_
