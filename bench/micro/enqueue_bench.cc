// What a call costs before any byte meets a peer: a communicator of one rank, whose collectives are
// a copy at most. Measured through the public API of the shared library, as a program calls it.
#include <benchmark/benchmark.h>
#include <gyre/gyre.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void must(gyreResult_t result) {
  if (result == gyreSuccess) return;
  std::fprintf(stderr, "enqueue_bench: %s\n", gyreGetLastError(nullptr));
  std::exit(1);
}

class Alone {
 public:
  Alone() {
    gyreUniqueId id;
    must(gyreGetUniqueId(&id));
    must(gyreCommInitRank(&comm_, 1, id, 0));
  }
  ~Alone() { must(gyreCommDestroy(comm_)); }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
  gyreComm_t comm() const { return comm_; }

 private:
  gyreComm_t comm_ = nullptr;
};

void all_reduce_alone(benchmark::State& state) {
  const Alone alone;
  std::vector<float> send(static_cast<std::size_t>(state.range(0)) / sizeof(float)), recv(send);
  for (auto _ : state)
    must(gyreAllReduce(send.data(), recv.data(), send.size(), gyreFloat32, gyreSum, alone.comm(),
                       nullptr));
}
BENCHMARK(all_reduce_alone)->Arg(8)->Arg(4096);

void all_reduce_alone_in_place(benchmark::State& state) {
  const Alone alone;
  float value[2] = {};
  for (auto _ : state)
    must(gyreAllReduce(value, value, 2, gyreFloat32, gyreSum, alone.comm(), nullptr));
}
BENCHMARK(all_reduce_alone_in_place);

// Per call within a group.
void all_reduce_alone_in_a_group(benchmark::State& state) {
  const Alone alone;
  float value[2] = {};
  constexpr int kCalls = 16;
  while (state.KeepRunningBatch(kCalls)) {
    must(gyreGroupStart());
    for (int i = 0; i < kCalls; ++i)
      must(gyreAllReduce(value, value, 2, gyreFloat32, gyreSum, alone.comm(), nullptr));
    must(gyreGroupEnd());
  }
}
BENCHMARK(all_reduce_alone_in_a_group);

void barrier_alone(benchmark::State& state) {
  const Alone alone;
  for (auto _ : state) must(gyreBarrier(alone.comm(), nullptr));
}
BENCHMARK(barrier_alone);

// Handing a call to a host stream; the stream's own time is not counted, its length is bounded.
void enqueue_on_a_stream(benchmark::State& state) {
  const Alone alone;
  gyreStream_t stream = nullptr;
  must(gyreHostStreamCreate(&stream));
  float value[2] = {};
  constexpr int kCalls = 64;
  while (state.KeepRunningBatch(kCalls)) {
    for (int i = 0; i < kCalls; ++i)
      must(gyreAllReduce(value, value, 2, gyreFloat32, gyreSum, alone.comm(), stream));
    state.PauseTiming();
    must(gyreHostStreamSynchronize(stream));
    state.ResumeTiming();
  }
  must(gyreHostStreamDestroy(stream));
}
BENCHMARK(enqueue_on_a_stream);

}  // namespace
