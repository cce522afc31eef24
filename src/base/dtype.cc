#include "base/dtype.h"

namespace gyre {

const char* to_text(Type type) {
  static constexpr const char* kNames[kTypeCount] = {
      "int8",    "uint8",   "int32",    "uint32",     "int64",      "uint64", "float16",
      "float32", "float64", "bfloat16", "float8e4m3", "float8e5m2", "bool"};
  return kNames[static_cast<int>(type)];
}

const char* to_text(Op op) {
  static constexpr const char* kNames[kOpCount] = {"sum",        "prod", "max", "min", "avg",
                                                   "premul_sum", "band", "bor", "bxor"};
  return kNames[static_cast<int>(op)];
}

const char* to_text(Collective collective) {
  static constexpr const char* kNames[kCollectiveCount] = {
      "all_reduce",   "broadcast", "reduce",  "all_gather",   "reduce_scatter",
      "all_to_all",   "gather",    "scatter", "all_gather_v", "reduce_scatter_v",
      "all_to_all_v", "barrier",   "send",    "recv"};
  return kNames[static_cast<int>(collective)];
}

bool is_defined(Op op, Type type) {
  switch (op) {
    case Op::band:
    case Op::bor:
    case Op::bxor:
      return !is_float(type);
    case Op::avg:
    case Op::premul_sum:
      return type != Type::boolean;
    default:
      return true;
  }
}

}  // namespace gyre
