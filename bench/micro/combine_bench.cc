// combine per type and shape, beside the floors it is measured against: memcpy and a plain float
// loop (floors.cc). Bytes per second count what the operands name: every source read and every
// target written, no read for ownership.
#include "bench/micro/floors.h"

#include "base/dtype.h"
#include "exec/combine.h"

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

using gyre::CombineArgs;
using gyre::Op;
using gyre::Type;

// Zeroed pages, huge where the machine gives them, so that page walks are not what is measured.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_((bytes + kHuge - 1) / kHuge * kHuge) {
    at_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(at_, bytes_, MADV_HUGEPAGE);
    std::memset(at_, 0, bytes_);
  }
  ~Memory() { munmap(at_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* at() const { return at_; }

 private:
  static constexpr std::size_t kHuge = 2 << 20;
  std::size_t bytes_;
  void* at_;
};

struct Operands {
  Operands(int sources, int targets, std::size_t bytes) {
    for (int s = 0; s < sources; ++s) from.push_back(memory.emplace_back(new Memory(bytes))->at());
    for (int t = 0; t < targets; ++t) to.push_back(memory.emplace_back(new Memory(bytes))->at());
  }
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<const void*> from;
  std::vector<void*> to;
};

void combine_of(benchmark::State& state, Type type, Op op, int sources, int targets,
                bool streaming) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const Operands operands(sources, targets, bytes);
  CombineArgs args{.targets = operands.to.data(),
                   .target_count = targets,
                   .sources = operands.from.data(),
                   .source_count = sources,
                   .count = bytes / gyre::size_of(type),
                   .type = type,
                   .op = op,
                   .final = true,
                   .avg_size = 3,
                   .streaming = streaming};
  const gyre::Kernel kernel = gyre::find_kernel(type, op);  // once per call, as the executor does
  for (auto _ : state) {
    kernel(args);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * (sources + targets));
}

void memcpy_floor(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const Operands operands(1, 1, bytes);
  for (auto _ : state) {
    std::memcpy(operands.to[0], operands.from[0], bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 2);
}

void floats_floor(benchmark::State& state, int targets) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const Operands operands(2, targets, bytes);
  const auto in = [&](std::size_t s) { return static_cast<const float*>(operands.from[s]); };
  const auto out = [&](std::size_t t) { return static_cast<float*>(operands.to[t]); };
  for (auto _ : state) {
    if (targets == 1) gyre::add_floats(in(0), in(1), out(0), bytes / sizeof(float));
    if (targets == 2) gyre::add_floats_twice(in(0), in(1), out(0), out(1), bytes / sizeof(float));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * (2 + targets));
}

// 8 B: the latency path. 64 KiB and 256 KiB: operands in L2. The rest: beyond it.
constexpr std::int64_t kSizes[] = {8, 64, 8192, 65536, 262144, 16 << 20, 64 << 20};

void add(const std::string& name, Type type, Op op, int sources, int targets, bool streaming) {
  auto* one =
      benchmark::RegisterBenchmark(name.c_str(), combine_of, type, op, sources, targets, streaming);
  for (std::int64_t bytes : kSizes) one->Arg(bytes);
}

const bool kRegistered = [] {
  for (auto* one : {benchmark::RegisterBenchmark("floor/memcpy", memcpy_floor),
                    benchmark::RegisterBenchmark("floor/float32_2_to_1", floats_floor, 1),
                    benchmark::RegisterBenchmark("floor/float32_2_to_2", floats_floor, 2)})
    for (std::int64_t bytes : kSizes) one->Arg(bytes);
  for (int type = 0; type < gyre::kTypeCount; ++type) {
    const Type t = static_cast<Type>(type);
    add(std::string("sum_2_to_1/") + to_text(t), t, Op::sum, 2, 1, false);
  }
  for (Type type : {Type::i32, Type::f16, Type::f32, Type::bf16, Type::f8e4m3})
    for (Op op : {Op::prod, Op::max, Op::avg})
      add(std::string(to_text(op)) + "_2_to_1/" + to_text(type), type, op, 2, 1, false);
  for (bool streaming : {false, true}) {
    const std::string how = streaming ? "streaming" : "plain";
    for (int targets : {1, 2}) {
      const std::string to = "_to_" + std::to_string(targets) + "/";
      add("copy_1" + to + how, Type::u8, Op::sum, 1, targets, streaming);
      for (int sources : {2, 3, 4, 8})
        add("sum_" + std::to_string(sources) + to + "float32_" + how, Type::f32, Op::sum, sources,
            targets, streaming);
    }
  }
  return true;
}();

}  // namespace
