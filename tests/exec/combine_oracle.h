// What combine must answer, element by element in plain C++. Knows gyreRedOp_t's rules; shares with
// the code under test only the scalar conversions of base/numeric.h, which have their own oracle.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "base/dtype.h"
#include "base/numeric.h"

namespace gyre {

using Bytes = std::vector<unsigned char>;

// Calls f with a value of the C++ type that `type` is stored as.
template <class F>
auto with_type(Type type, F f) {
  switch (type) {
    case Type::i8:
      return f(std::int8_t{});
    case Type::u8:
      return f(std::uint8_t{});
    case Type::i32:
      return f(std::int32_t{});
    case Type::u32:
      return f(std::uint32_t{});
    case Type::i64:
      return f(std::int64_t{});
    case Type::u64:
      return f(std::uint64_t{});
    case Type::f16:
      return f(F16{});
    case Type::f32:
      return f(float{});
    case Type::f64:
      return f(double{});
    case Type::bf16:
      return f(BF16{});
    case Type::f8e4m3:
      return f(F8E4M3{});
    case Type::f8e5m2:
      return f(F8E5M2{});
    default:
      return f(bool{});
  }
}

template <class T>
auto widened(T value) {
  if constexpr (std::is_class_v<T>)
    return value.to_float();
  else
    return value;
}
template <class T, class A>
T narrowed(A value) {
  if constexpr (std::is_class_v<T>)
    return T::from(value);
  else
    return static_cast<T>(value);
}

template <class A>
A reduced(Op op, A a, A b) {
  if constexpr (std::is_same_v<A, bool>) {
    if (op == Op::bxor) return a != b;
    return op == Op::prod || op == Op::min || op == Op::band ? a && b : a || b;
  } else if constexpr (std::is_integral_v<A>) {
    using U = std::uint64_t;  // its low bits are those of any narrower type
    const U x = static_cast<U>(a), y = static_cast<U>(b);
    switch (op) {
      case Op::prod:
        return static_cast<A>(x * y);
      case Op::max:
        return a > b ? a : b;
      case Op::min:
        return a < b ? a : b;
      case Op::band:
        return static_cast<A>(x & y);
      case Op::bor:
        return static_cast<A>(x | y);
      case Op::bxor:
        return static_cast<A>(x ^ y);
      default:
        return static_cast<A>(x + y);
    }
  } else {
    if (op == Op::prod) return a * b;
    if (op != Op::max && op != Op::min) return a + b;
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<A>::quiet_NaN();
    if (a == b) return std::signbit(a) == (op == Op::min) ? a : b;
    return (a > b) == (op == Op::max) ? a : b;
  }
}

template <class A>
A divided(A sum, int size) {
  if constexpr (std::is_floating_point_v<A>)
    return sum * (A{1} / static_cast<A>(size));
  else if constexpr (std::is_signed_v<A>)
    return static_cast<A>(sum / std::int64_t{size});
  else
    return static_cast<A>(sum / static_cast<std::uint64_t>(size));
}

struct Request {
  Type type;
  Op op;
  int divide_by = 0;                  // avg, final; 0: not final
  std::vector<const void*> scales{};  // premul_sum; empty: none
};

// sources: equal sizes, whole elements.
inline Bytes expected(const Request& request, const std::vector<Bytes>& sources) {
  return with_type(request.type, [&]<class T>(T) {
    Bytes result = sources[0];
    if (sources.size() == 1 && request.divide_by == 0 && request.scales.empty()) return result;
    const auto read = [](const void* at) {
      T value;
      std::memcpy(&value, at, sizeof(T));
      return widened(value);
    };
    for (std::size_t at = 0; at < result.size(); at += sizeof(T)) {
      const auto source = [&](std::size_t s) {
        const auto value = read(&sources[s][at]);
        if (request.scales.empty() || !request.scales[s]) return value;
        return widened(narrowed<T>(reduced(Op::prod, value, read(request.scales[s]))));
      };
      auto sum = source(0);
      for (std::size_t s = 1; s < sources.size(); ++s) sum = reduced(request.op, sum, source(s));
      if (request.divide_by != 0) sum = divided(sum, request.divide_by);
      if constexpr (std::is_floating_point_v<decltype(sum)>)
        if (std::isnan(sum)) sum = std::numeric_limits<decltype(sum)>::quiet_NaN();
      const T stored = narrowed<T>(sum);
      std::memcpy(&result[at], &stored, sizeof(T));
    }
    return result;
  });
}

// Half the elements any bits at all (NaN, infinities, subnormals), half small numbers whose sums
// and products stay in range.
inline Bytes random_elements(Type type, std::size_t count, std::mt19937_64& random) {
  return with_type(type, [&]<class T>(T) {
    Bytes bytes(count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = random();
      if constexpr (std::is_same_v<T, bool>) {
        bytes[i] = bits & 1;
        continue;
      }
      T value;
      std::memcpy(&value, &bits, sizeof(T));
      const bool is_small = random() % 2 == 0;
      if constexpr (std::is_class_v<T> || std::is_floating_point_v<T>)
        if (is_small)
          value = narrowed<T>(static_cast<decltype(widened(value))>(
              static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-62));
      std::memcpy(&bytes[i * sizeof(T)], &value, sizeof(T));
    }
    return bytes;
  });
}

}  // namespace gyre
