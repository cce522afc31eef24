// float16 and bfloat16 kernels for every instruction set: added in float32.
#include "exec/combine_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/combine_half.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "exec/combine_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gyre {
namespace HWY_NAMESPACE {

Kernel find_half(Type type, Op op) {
  return type == Type::f16 ? find_in<Small<F16>>(op) : find_in<Small<BF16>>(op);
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre {

HWY_EXPORT(find_half);
Kernel find_half_kernel(Type type, Op op) { return HWY_DYNAMIC_DISPATCH(find_half)(type, op); }

}  // namespace gyre
#endif  // HWY_ONCE
