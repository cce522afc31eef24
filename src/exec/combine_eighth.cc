// float8 kernels for every instruction set: added in float32.
#include "exec/combine_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/combine_eighth.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "exec/combine_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gyre {
namespace HWY_NAMESPACE {

Kernel find_eighth(Type type, Op op) {
  return type == Type::f8e4m3 ? find_in<Small<F8E4M3>>(op) : find_in<Small<F8E5M2>>(op);
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre {

HWY_EXPORT(find_eighth);
Kernel find_eighth_kernel(Type type, Op op) { return HWY_DYNAMIC_DISPATCH(find_eighth)(type, op); }

}  // namespace gyre
#endif  // HWY_ONCE
