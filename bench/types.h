// Element types and reductions by the names users type. Knows names, sizes and what is defined.
// Does not know how values are drawn (oracle.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/gyre.h"

namespace perf {

enum class Kind { sint, uint, real, boolean };

struct TypeInfo {
  const char* name;
  gyreDataType_t id;
  std::size_t bytes;
  Kind kind;
  int exponent_bits;  // of floating types
  int mantissa_bits;
};

enum class Op { sum, prod, max, min, avg, mulsum, band, bor, bxor };

const std::vector<TypeInfo>& all_types();
const std::vector<Op>& all_ops();
const char* to_text(Op op);
std::optional<TypeInfo> find_type(std::string_view name);
std::optional<Op> find_op(std::string_view name);

// Bit operators need integers or bool; bool has no average and no scalar.
bool is_defined(Op op, const TypeInfo& type);

// The public code of a reduction; none for mulsum, whose handle belongs to a communicator.
std::optional<gyreRedOp_t> public_code(Op op);

}  // namespace perf
