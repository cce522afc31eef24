// The loop of combine, compiled once per instruction set. Knows counts, tails, many sources and
// many targets. Does not know what a register holds (combine_forms-inl.h) or how two combine
// (combine_lanes-inl.h).
//
// Every source is read once and nothing is stored before all sources of those elements were read,
// so that a target may be a source.

// Highway's guard: once per instruction set.
#if defined(GYRE_EXEC_COMBINE_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GYRE_EXEC_COMBINE_LOOP_INL_H_
#undef GYRE_EXEC_COMBINE_LOOP_INL_H_
#else
#define GYRE_EXEC_COMBINE_LOOP_INL_H_
#endif

#include "exec/combine_forms-inl.h"
#include "exec/combine_kernels.h"

#include <hwy/cache_control.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace gyre {
namespace HWY_NAMESPACE {

// Whole registers of memory.
struct Whole {
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* from) const {
    return hn::LoadU(d, from);
  }
  template <class D>
  HWY_INLINE void store(hn::Vec<D> v, D d, hn::TFromD<D>* to) const {
    hn::StoreU(v, d, to);
  }
};

// As Whole, around the caches where the target falls on a register's boundary.
struct Streamed : Whole {
  template <class D>
  HWY_INLINE void store(hn::Vec<D> v, D d, hn::TFromD<D>* to) const {
    constexpr std::size_t kRegisterBytes = sizeof(hn::TFromD<D>) * hn::MaxLanes(D());
    const bool on_boundary = reinterpret_cast<std::uintptr_t>(to) % kRegisterBytes == 0;
    on_boundary ? hn::Stream(v, d, to) : hn::StoreU(v, d, to);
  }
};

// The first `lanes` of a register; memory after them is neither read nor written.
struct Part {
  std::size_t lanes;

  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* from) const {
    using T = hn::TFromD<D>;
    if constexpr (kMaskedMemory<T>) return hn::MaskedLoad(hn::FirstN(d, lanes), d, from);
    HWY_ALIGN T whole[hn::MaxLanes(d)] = {};
    std::memcpy(whole, from, lanes * sizeof(T));
    return hn::Load(d, whole);
  }
  template <class D>
  HWY_INLINE void store(hn::Vec<D> v, D d, hn::TFromD<D>* to) const {
    using T = hn::TFromD<D>;
    if constexpr (kMaskedMemory<T>) return hn::BlendedStore(v, hn::FirstN(d, lanes), d, to);
    HWY_ALIGN T whole[hn::MaxLanes(d)];
    hn::Store(v, d, whole);
    std::memcpy(to, whole, lanes * sizeof(T));
  }
};

enum class Extra { none, scale_sources, divide_result };

template <class Form, class Operator, Extra kExtra>
class Loop {
  using T = typename Form::Memory;
  using D = hn::ScalableTag<T>;
  using Scalar = typename Form::Scalar;

 public:
  Loop(const CombineArgs& args, std::size_t count) : args_(args), count_(count) {
    if constexpr (kExtra == Extra::scale_sources)
      for (int s = 0; s < args.source_count; ++s) scales_[s] = scalar_at(args.scales[s]);
  }

  void run() {
    std::size_t done = 0;
    if (args_.streaming) {
      done = run_to_boundary();
      done = run_whole(Streamed{}, done);
      hwy::FlushStream();  // ordinary stores that follow, such as a slot's tail, come after these
    } else {
      done = run_whole(Whole{}, done);
    }
    if (done < count_) step<1>(Part{count_ - done}, done);
  }

 private:
  static Scalar scalar_at(const void* at) {
    if (!at) return Scalar{1};
    T bits;
    std::memcpy(&bits, at, sizeof(bits));
    return Form::scalar(bits);
  }

  // Brings the first target to a register's boundary.
  std::size_t run_to_boundary() {
    const std::size_t register_bytes = hn::Lanes(D()) * sizeof(T);
    const std::size_t past = reinterpret_cast<std::uintptr_t>(args_.targets[0]) % register_bytes;
    if (past == 0 || past % sizeof(T) != 0) return 0;
    const std::size_t head = HWY_MIN((register_bytes - past) / sizeof(T), count_);
    step<1>(Part{head}, 0);
    return head;
  }

  template <class Port>
  HWY_INLINE std::size_t run_whole(Port port, std::size_t done) {
    constexpr std::size_t kUnroll = Form::kUnroll;
    const std::size_t lanes = hn::Lanes(D());
    for (; done + kUnroll * lanes <= count_; done += kUnroll * lanes) step<kUnroll>(port, done);
    for (; done + lanes <= count_; done += lanes) step<1>(port, done);
    return done;
  }

  template <int kRegisters, class Port>
  HWY_INLINE void step(Port port, std::size_t at) {
    auto sum = source<kRegisters>(port, 0, at);
    for (int s = 1; s < args_.source_count; ++s)
      sum = zip(Operator(), sum, source<kRegisters>(port, s, at));
    if constexpr (kExtra == Extra::divide_result) sum = map(DivideBy{args_.avg_size}, sum);
    sum = plain_nan(sum);
    for (int t = 0; t < args_.target_count; ++t)
      put<kRegisters>(port, sum, static_cast<T*>(args_.targets[t]) + at);
  }

  template <int kRegisters, class Port>
  HWY_INLINE auto source(Port port, int s, std::size_t at) {
    return get<kRegisters>(port, s, static_cast<const T*>(args_.sources[s]) + at);
  }
  // What a register of source `s` adds. A scaled element is rounded to its type first: peers get it
  // through a slot, and its own rank must add the same bits as they do.
  template <class Block>
  HWY_INLINE Block operand(Block values, [[maybe_unused]] int s) const {
    if constexpr (kExtra == Extra::scale_sources) values = map(Scale{scales_[s]}, values);
    if constexpr (kExtra == Extra::scale_sources && !std::is_same_v<Scalar, T>)
      return Form::decode(Form::encode(D(), plain_nan(values)));
    else
      return values;
  }

  struct Scale {
    Scalar by;
    template <class V>
    HWY_INLINE V operator()(V v) const {
      return Mul()(v, hn::Set(hn::DFromV<V>(), by));
    }
  };

  template <int kRegisters, class Port>
  HWY_INLINE auto get(Port port, int s, const T* from) const {
    if constexpr (kRegisters == 1) {
      return operand(Form::decode(port.load(D(), from)), s);
    } else {
      constexpr int kHalf = kRegisters / 2;
      using Block = decltype(get<kHalf>(port, s, from));
      return Two<Block>{get<kHalf>(port, s, from),
                        get<kHalf>(port, s, from + kHalf * hn::Lanes(D()))};
    }
  }
  template <int kRegisters, class Port, class Block>
  static HWY_INLINE void put(Port port, Block values, T* to) {
    if constexpr (kRegisters == 1) {
      port.store(Form::encode(D(), values), D(), to);
    } else {
      constexpr int kHalf = kRegisters / 2;
      put<kHalf>(port, values.low, to);
      put<kHalf>(port, values.high, to + kHalf * hn::Lanes(D()));
    }
  }

  const CombineArgs& args_;
  const std::size_t count_;
  Scalar scales_[kExtra == Extra::scale_sources ? kCombineSourcesMax : 1];
};

// ---- Kernels: what find_kernel answers ----

template <class Form, class Operator>
void reduce(const CombineArgs& args) {
  if (args.source_count == 1) return copy(args);
  Loop<Form, Operator, Extra::none>(args, args.count).run();
}
template <class Form>
void average(const CombineArgs& args) {
  if (!args.final) return reduce<Form, Add>(args);
  Loop<Form, Add, Extra::divide_result>(args, args.count).run();
}
template <class Form>
void scaled_sum(const CombineArgs& args) {
  if (!args.scales) return reduce<Form, Add>(args);
  Loop<Form, Add, Extra::scale_sources>(args, args.count).run();
}

template <class Form>
Kernel find_in(Op op) {
  switch (op) {
    case Op::sum:
      return reduce<Form, Add>;
    case Op::prod:
      return reduce<Form, Mul>;
    case Op::max:
      return reduce<Form, Max>;
    case Op::min:
      return reduce<Form, Min>;
    case Op::avg:
      return average<Form>;
    case Op::premul_sum:
      return scaled_sum<Form>;
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre
HWY_AFTER_NAMESPACE();

#endif  // GYRE_EXEC_COMBINE_LOOP_INL_H_
