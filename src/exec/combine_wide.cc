// float32 and float64 kernels for every instruction set: added as they are.
#include "exec/combine_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/combine_wide.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "exec/combine_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gyre {
namespace HWY_NAMESPACE {

Kernel find_wide(Type type, Op op) {
  return type == Type::f32 ? find_in<Same<float>>(op) : find_in<Same<double>>(op);
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre {

HWY_EXPORT(find_wide);
Kernel find_wide_kernel(Type type, Op op) { return HWY_DYNAMIC_DISPATCH(find_wide)(type, op); }

}  // namespace gyre
#endif  // HWY_ONCE
