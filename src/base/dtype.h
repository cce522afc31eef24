// Element types, reduction operators and collectives as the whole house names them.
// Knows sizes and names. Does not know how to add (src/exec/combine) or convert (base/numeric.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace gyre {

// Order and numbers equal gyreDataType_t.
enum class Type : std::uint8_t {
  i8,
  u8,
  i32,
  u32,
  i64,
  u64,
  f16,
  f32,
  f64,
  bf16,
  f8e4m3,
  f8e5m2,
  boolean
};
inline constexpr int kTypeCount = 13;

// The first five equal gyreRedOp_t; pre-multiplied sum carries a scalar in the Work.
enum class Op : std::uint8_t { sum, prod, max, min, avg, premul_sum, band, bor, bxor };
inline constexpr int kOpCount = 9;

enum class Collective : std::uint8_t {
  all_reduce,
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  gather,
  scatter,
  all_gather_v,
  reduce_scatter_v,
  all_to_all_v,
  barrier,
  send,
  recv,
};
inline constexpr int kCollectiveCount = 14;

constexpr std::size_t size_of(Type type) {
  constexpr std::uint8_t kSizes[kTypeCount] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1, 1};
  return kSizes[static_cast<int>(type)];
}

constexpr bool is_float(Type type) {
  return type == Type::f16 || type == Type::f32 || type == Type::f64 || type == Type::bf16 ||
         type == Type::f8e4m3 || type == Type::f8e5m2;
}

const char* to_text(Type type);              // "int8", "float16", ...
const char* to_text(Op op);                  // "sum", ...
const char* to_text(Collective collective);  // "all_reduce", ...

// band, bor, bxor need an integer or bool; bool knows sum max bor (or), prod min band (and), bxor.
bool is_defined(Op op, Type type);

}  // namespace gyre
