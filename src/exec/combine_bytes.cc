// Copies and bit operators, which see bytes alone, for every instruction set.
#include "exec/combine_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/combine_bytes.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "exec/combine_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gyre {
namespace HWY_NAMESPACE {

using Bytes = Same<std::uint8_t>;

template <class Operator>
void bits(const CombineArgs& args) {
  if (args.source_count == 1) return copy(args);
  Loop<Bytes, Operator, Extra::none>(args, args.count * size_of(args.type)).run();
}

Kernel find_bits(Op op) {
  switch (op) {
    case Op::band:
      return bits<And>;
    case Op::bor:
      return bits<Or>;
    case Op::bxor:
      return bits<Xor>;
    default:
      return nullptr;
  }
}

void copy_bytes(const CombineArgs& args) {
  Loop<Bytes, Or, Extra::none>(args, args.count * size_of(args.type)).run();
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre {

HWY_EXPORT(find_bits);
Kernel find_bits_kernel(Op op) { return HWY_DYNAMIC_DISPATCH(find_bits)(op); }

HWY_EXPORT(copy_bytes);
void copy(const CombineArgs& args) {
  if (args.streaming) return HWY_DYNAMIC_DISPATCH(copy_bytes)(args);
  // The C library knows this machine best, and a second target finds the source in cache: reading
  // it once for both measured no faster (combine_bench, copy_1_to_2, 256 KiB, Sapphire Rapids,
  // 2026-12).
  for (int t = 0; t < args.target_count; ++t)
    if (args.targets[t] != args.sources[0])
      std::memcpy(args.targets[t], args.sources[0], args.count * size_of(args.type));
}

}  // namespace gyre
#endif  // HWY_ONCE
