// Argument checks of the collectives, before any effect.
#pragma once

#include "api/handle.h"

namespace gyre {

Result<Type> to_type(gyreDataType_t type);
// Resolves a public op, pre-multiplied handles included, for `type` on `handle`.
struct ResolvedOp {
  Op op = Op::sum;
  PremulScalar scalar;
};
Result<ResolvedOp> to_op(gyreRedOp_t op, Type type, gyreComm* handle);
// Root or peer in range, pointers where elements are, no overflow of count * size * ranks.
Status check_request(const Request& request, int rank, int size);

// First of the handles of pre-multiplied sums.
inline constexpr int kFirstPremul = 16;
int premul_handle(int serial, int index);

}  // namespace gyre
