// Chooses the kernel. Knows which operators of which type are the same arithmetic.
#include "exec/combine.h"

#include "base/check.h"
#include "exec/combine_kernels.h"

namespace gyre {
namespace {

// bool holds 0 and 1: "or" and "and" are its sum and product.
Op bool_as_bits(Op op) {
  switch (op) {
    case Op::sum:
    case Op::max:
      return Op::bor;
    case Op::prod:
    case Op::min:
      return Op::band;
    default:
      return op;
  }
}

}  // namespace

Kernel find_kernel(Type type, Op op) {
  if (!is_defined(op, type)) return nullptr;
  if (type == Type::boolean) op = bool_as_bits(op);
  if (op == Op::band || op == Op::bor || op == Op::bxor) return find_bits_kernel(op);
  switch (type) {
    case Type::f32:
    case Type::f64:
      return find_wide_kernel(type, op);
    case Type::f16:
    case Type::bf16:
      return find_half_kernel(type, op);
    case Type::f8e4m3:
    case Type::f8e5m2:
      return find_eighth_kernel(type, op);
    default:
      return find_integer_kernel(type, op);
  }
}

void combine(const CombineArgs& args) {
  const bool changes = args.op == Op::avg ? args.final : args.op == Op::premul_sum && args.scales;
  if (args.source_count == 1 && !changes) return copy(args);
  const Kernel kernel = find_kernel(args.type, args.op);
  GYRE_CHECK(kernel != nullptr);
  kernel(args);
}

}  // namespace gyre
