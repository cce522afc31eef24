// Many threads, many communicators, everything at once, from a seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "world/call.h"
#include "world/roads.h"

namespace world {
namespace {

using harness::Rank;

class Stress : public testing::TestWithParam<Road> {};
INSTANTIATE_TEST_SUITE_P(World, Stress, testing::ValuesIn(all_roads()), name_of_road);

// Eight communicators, each with a thread of its own on every rank: whatever order they come to
// run.
TEST_P(Stress, communicators_are_free_of_each_other) {
  constexpr int kThreads = 8;
  harness::run_world(on(GetParam(), 3), [](Rank& me) {
    std::vector<gyreComm_t> comms;
    for (int c = 0; c < kThreads; ++c) comms.push_back(me.join(nullptr, c));
    std::vector<std::thread> threads;
    for (int c = 0; c < kThreads; ++c)
      threads.emplace_back([&, c] {
        const auto seed = seed_of_run() * 100'000 + static_cast<std::uint64_t>(c) * 1000;
        for (std::uint64_t i = 0; i < (heavy() ? 1300u : 40u) && !testing::Test::HasFailure(); ++i)
          perform(me, comms[static_cast<std::size_t>(c)],
                  draw({.counts = {0, 1, 7, 1000, 5000}}, seed + i, me.size()));
      });
    for (auto& thread : threads) thread.join();
    for (const gyreComm_t comm : comms) EXPECT_OK(gyreCommDestroy(comm));
  });
}

// Streams and communicators in random order, the same on all ranks only per communicator.
TEST_P(Stress, streams_in_random_order) {
  constexpr std::size_t kStreams = 4;
  harness::run_world(on(GetParam(), 3), [](Rank& me) {
    gyreComm_t comms[kStreams];
    gyreStream_t streams[kStreams];
    constexpr std::size_t kCalls = 60;
    std::vector<std::vector<std::int64_t>> data(kStreams * kCalls);
    std::vector<std::size_t> order;
    for (std::size_t s = 0; s < kStreams; ++s) {
      comms[s] = me.join(nullptr, static_cast<int>(s));
      EXPECT_OK(gyreHostStreamCreate(&streams[s]));
      order.insert(order.end(), kCalls, s);
    }
    std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(me.rank() + 1)));
    std::size_t done[kStreams] = {};
    for (const std::size_t s : order) {
      const std::size_t call = done[s]++;
      auto& one = data[s * kCalls + call];
      one.assign(1 + call * call % 7000, static_cast<std::int64_t>(s * 100 + call));
      EXPECT_OK(gyreAllReduce(one.data(), one.data(), one.size(), gyreInt64, gyreSum, comms[s],
                              streams[s]));
    }
    for (const gyreStream_t stream : streams) EXPECT_OK(gyreHostStreamDestroy(stream));
    for (std::size_t s = 0; s < kStreams; ++s)
      for (std::size_t call = 0; call < kCalls; ++call)
        for (const std::int64_t x : data[s * kCalls + call])
          ASSERT_EQ(x, 3 * static_cast<std::int64_t>(s * 100 + call));
    for (const gyreComm_t comm : comms) EXPECT_OK(gyreCommDestroy(comm));
  });
}

}  // namespace
}  // namespace world
