// What each operator does to registers of accumulators, compiled once per instruction set. Does not
// know how memory becomes accumulators (combine_forms-inl.h) or how many there are
// (combine_loop-inl.h).
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

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace gyre {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The fallback for machines without vectors has one-lane registers that cannot change lane size.
inline constexpr bool kOneLane = HWY_TARGET == HWY_SCALAR;
// Of the x86 sets, lower is newer.
inline constexpr bool kHardwareF16 = HWY_TARGET <= HWY_AVX2;
// Masked loads and stores that neither touch nor fault on what they leave out.
template <class T>
inline constexpr bool kMaskedMemory = HWY_TARGET <= HWY_AVX3 ||
                                      (HWY_TARGET == HWY_AVX2 && sizeof(T) >= 4);

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
  HWY_INLINE V operator()(V a, V b) const {
    return hn::And(a, b);
  }
};
struct Or {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Or(a, b);
  }
};
struct Xor {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Xor(a, b);
  }
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
HWY_INLINE V total(One<V> a) {
  return a.v;
}
template <class U>
HWY_INLINE auto total(Two<U> a) {
  return hn::Add(total(a.low), total(a.high));
}

// One test for the whole block: any NaN makes the total NaN (as opposite infinities do,
// harmlessly).
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

}  // namespace HWY_NAMESPACE
}  // namespace gyre
HWY_AFTER_NAMESPACE();

#endif  // GYRE_EXEC_COMBINE_LANES_INL_H_
