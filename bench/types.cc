#include "bench/types.h"

namespace perf {

const std::vector<TypeInfo>& all_types() {
  static const std::vector<TypeInfo> kTypes = {
      {"int8", gyreInt8, 1, Kind::sint, 0, 0},
      {"uint8", gyreUint8, 1, Kind::uint, 0, 0},
      {"int32", gyreInt32, 4, Kind::sint, 0, 0},
      {"uint32", gyreUint32, 4, Kind::uint, 0, 0},
      {"int64", gyreInt64, 8, Kind::sint, 0, 0},
      {"uint64", gyreUint64, 8, Kind::uint, 0, 0},
      {"half", gyreFloat16, 2, Kind::real, 5, 10},
      {"float", gyreFloat32, 4, Kind::real, 8, 23},
      {"double", gyreFloat64, 8, Kind::real, 11, 52},
      {"bfloat16", gyreBfloat16, 2, Kind::real, 8, 7},
      {"f8e4m3", gyreFloat8e4m3, 1, Kind::real, 4, 3},
      {"f8e5m2", gyreFloat8e5m2, 1, Kind::real, 5, 2},
      {"bool", gyreBool, 1, Kind::boolean, 0, 0},
  };
  return kTypes;
}

const std::vector<Op>& all_ops() {
  static const std::vector<Op> kOps = {Op::sum,    Op::prod, Op::max, Op::min, Op::avg,
                                       Op::mulsum, Op::band, Op::bor, Op::bxor};
  return kOps;
}

const char* to_text(Op op) {
  switch (op) {
    case Op::sum:
      return "sum";
    case Op::prod:
      return "prod";
    case Op::max:
      return "max";
    case Op::min:
      return "min";
    case Op::avg:
      return "avg";
    case Op::mulsum:
      return "mulsum";
    case Op::band:
      return "band";
    case Op::bor:
      return "bor";
    case Op::bxor:
      return "bxor";
  }
  return "?";
}

std::optional<TypeInfo> find_type(std::string_view name) {
  for (const TypeInfo& type : all_types())
    if (name == type.name) return type;
  return std::nullopt;
}

std::optional<Op> find_op(std::string_view name) {
  for (Op op : all_ops())
    if (name == to_text(op)) return op;
  return std::nullopt;
}

bool is_defined(Op op, const TypeInfo& type) {
  if (op == Op::band || op == Op::bor || op == Op::bxor) return type.kind != Kind::real;
  if (op == Op::avg || op == Op::mulsum) return type.kind != Kind::boolean;
  return true;
}

std::optional<gyreRedOp_t> public_code(Op op) {
  switch (op) {
    case Op::sum:
      return gyreSum;
    case Op::prod:
      return gyreProd;
    case Op::max:
      return gyreMax;
    case Op::min:
      return gyreMin;
    case Op::avg:
      return gyreAvg;
    case Op::band:
      return gyreBand;
    case Op::bor:
      return gyreBor;
    case Op::bxor:
      return gyreBxor;
    case Op::mulsum:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace perf
