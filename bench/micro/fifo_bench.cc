// Handing a message over: the instructions of both ends in one thread, and a round trip between two
// threads, beside their floor, a round trip of one bare word. Half a round trip is what a rank
// waits.
#include "base/hd.h"
#include "transport/fifo.h"

#include <benchmark/benchmark.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace {

using gyre::FifoMemory;
using gyre::FifoReader;
using gyre::FifoShape;
using gyre::FifoWriter;

struct Pipe {
  explicit Pipe(const FifoShape& shape)
      : storage(*gyre::private_fifo(shape)),
        writer(FifoMemory(storage.data(), shape)),
        reader(FifoMemory(storage.data(), shape)) {}
  gyre::Mapping storage;
  FifoWriter writer;
  FifoReader reader;
};

FifoShape shape_for(const benchmark::State& state) {
  return {4, static_cast<std::uint32_t>(std::max<std::int64_t>(state.range(0), 32))};
}

void put(FifoWriter& writer, std::size_t bytes, int value) {
  while (!writer.can_send()) gyre::cpu_pause();
  std::memset(writer.payload(bytes), value, bytes);
  writer.commit({}, bytes);
}

std::byte take(FifoReader& reader, std::size_t bytes) {
  while (!reader.ready()) gyre::cpu_pause();
  const std::byte last = reader.payload(bytes)[bytes - 1];
  reader.release();
  return last;
}

// One thread: what the code itself costs, all lines in its own cache.
void hand_over(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Pipe pipe(shape_for(state));
  for (auto _ : state) {
    put(pipe.writer, bytes, 1);
    benchmark::DoNotOptimize(take(pipe.reader, bytes));
  }
}
BENCHMARK(hand_over)->Arg(8)->Arg(32)->Arg(64)->Arg(4096);

// Two threads that spin: needs a core for each.
void round_trip(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Pipe there(shape_for(state)), back(shape_for(state));
  std::thread echo([&] {
    while (take(there.reader, bytes) != std::byte{0}) put(back.writer, bytes, 1);
  });
  for (auto _ : state) {
    put(there.writer, bytes, 1);
    benchmark::DoNotOptimize(take(back.reader, bytes));
  }
  put(there.writer, bytes, 0);
  echo.join();
}
BENCHMARK(round_trip)->Arg(8)->Arg(32)->Arg(64)->Arg(4096)->Arg(128 << 10)->UseRealTime();

// The floor: two words on two lines, no message.
void round_trip_of_a_word(benchmark::State& state) {
  struct alignas(gyre::kLineBytes) Word {
    std::atomic<std::uint64_t> value{0};
  };
  Word there, back;
  constexpr std::uint64_t kStop = ~std::uint64_t{0};
  std::thread echo([&] {
    for (std::uint64_t turn = 1;; ++turn) {
      std::uint64_t seen;
      while ((seen = there.value.load(std::memory_order_acquire)) < turn) gyre::cpu_pause();
      if (seen == kStop) return;
      back.value.store(turn, std::memory_order_release);
    }
  });
  std::uint64_t turn = 0;
  for (auto _ : state) {
    there.value.store(++turn, std::memory_order_release);
    while (back.value.load(std::memory_order_acquire) < turn) gyre::cpu_pause();
  }
  there.value.store(kStop, std::memory_order_release);
  echo.join();
}
BENCHMARK(round_trip_of_a_word)->UseRealTime();

}  // namespace
