// Integer kernels for every instruction set.
#include "exec/combine_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/combine_integer.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "exec/combine_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gyre {
namespace HWY_NAMESPACE {

Kernel find_integer(Type type, Op op) {
  switch (type) {
    case Type::i8:
      return find_in<Same<std::int8_t>>(op);
    case Type::u8:
      return find_in<Same<std::uint8_t>>(op);
    case Type::i32:
      return find_in<Same<std::int32_t>>(op);
    case Type::u32:
      return find_in<Same<std::uint32_t>>(op);
    case Type::i64:
      return find_in<Same<std::int64_t>>(op);
    case Type::u64:
      return find_in<Same<std::uint64_t>>(op);
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre {

HWY_EXPORT(find_integer);
Kernel find_integer_kernel(Type type, Op op) {
  return HWY_DYNAMIC_DISPATCH(find_integer)(type, op);
}

}  // namespace gyre
#endif  // HWY_ONCE
