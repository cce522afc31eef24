// How communicators come and go: all at once, in groups, without blocking, by split, with many
// roots.
#include <gtest/gtest.h>

#include <thread>

#include "world/call.h"
#include "world/roads.h"

namespace world {
namespace {

using gyre::now_ns;
using harness::Rank;
using gyre::operator""_s;

class Life : public testing::TestWithParam<Road> {};
INSTANTIATE_TEST_SUITE_P(World, Life, testing::ValuesIn(all_roads()), name_of_road);

void expect_sum(gyreComm_t comm, int ranks, std::size_t count = 3) {
  std::vector<std::int32_t> data(count, 1);
  ASSERT_OK(gyreAllReduce(data.data(), data.data(), count, gyreInt32, gyreSum, comm, nullptr));
  for (const std::int32_t x : data) ASSERT_EQ(x, ranks);
}

TEST(Life, all_ranks_in_one_call_and_one_thread) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    for (const int n : {1, 2, 7}) {
      std::vector<gyreComm_t> comms(static_cast<std::size_t>(n));
      ASSERT_OK(gyreCommInitAll(comms.data(), n, nullptr));
      for (const std::size_t count : {std::size_t{5}, std::size_t{50'000}}) {
        std::vector<std::vector<std::int32_t>> data(comms.size(),
                                                    std::vector<std::int32_t>(count, 2));
        EXPECT_OK(gyreGroupStart());
        for (std::size_t r = 0; r < comms.size(); ++r)
          EXPECT_OK(gyreAllReduce(data[r].data(), data[r].data(), count, gyreInt32, gyreSum,
                                  comms[r], nullptr));
        ASSERT_OK(gyreGroupEnd());
        for (const auto& one : data)
          for (const std::int32_t x : one) ASSERT_EQ(x, 2 * n);
      }
      for (const gyreComm_t comm : comms) EXPECT_OK(gyreCommDestroy(comm));
    }
  });
}

TEST(Life, several_ranks_of_a_process_join_in_a_group) {
  // Two processes of two ranks each.
  harness::run_world({.ranks = 2}, [](Rank& me) {
    gyreComm_t comms[2];
    const gyreUniqueId id = me.id();
    EXPECT_OK(gyreGroupStart());
    for (int k = 0; k < 2; ++k) EXPECT_OK(gyreCommInitRank(&comms[k], 4, id, 2 * me.rank() + k));
    ASSERT_OK(gyreGroupEnd());
    for (const std::size_t count : {std::size_t{5}, std::size_t{50'000}, std::size_t{1'000'000}}) {
      std::vector<std::int32_t> data[2] = {std::vector<std::int32_t>(count, 1),
                                           std::vector<std::int32_t>(count, 1)};
      EXPECT_OK(gyreGroupStart());
      for (int k = 0; k < 2; ++k)
        EXPECT_OK(gyreAllReduce(data[k].data(), data[k].data(), count, gyreInt32, gyreSum, comms[k],
                                nullptr));
      ASSERT_OK(gyreGroupEnd());
      for (const auto& one : data)
        for (const std::int32_t x : one) ASSERT_EQ(x, 4);
    }
    for (const gyreComm_t comm : comms) EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST_P(Life, many_roots_make_one_communicator) {
  for (const int ids : {2, 3, 5})
    harness::run_world(on(GetParam(), 9), [ids](Rank& me) {
      std::vector<gyreUniqueId> all;
      // Each id is made by the first rank of its block.
      for (int i = 0; i < ids; ++i) all.push_back(me.id(i, i * 9 / ids));
      gyreComm_t comm = nullptr;
      ASSERT_OK(gyreCommInitRankScalable(&comm, 9, me.rank(), ids, all.data(), nullptr));
      expect_sum(comm, 9);
      expect_sum(comm, 9, 50'000);
      EXPECT_OK(gyreCommDestroy(comm));
    });
}

gyreResult_t poll_state(gyreComm_t comm) {
  gyreResult_t state = gyreInProgress;
  for (const gyre::Nanos deadline = now_ns() + 30_s;
       state == gyreInProgress && now_ns() < deadline;) {
    EXPECT_OK(gyreCommGetAsyncError(comm, &state));
    std::this_thread::yield();
  }
  return state;
}

TEST_P(Life, init_without_blocking_comes_to_success) {
  harness::run_world(on(GetParam(), 2), [](Rank& me) {
    gyreConfig_t config = GYRE_CONFIG_INITIALIZER;
    config.blocking = 0;
    const gyreUniqueId id = me.id();
    gyreComm_t comm = nullptr;
    if (me.rank() == 1) me.await(0, 1);
    EXPECT_EQ(gyreCommInitRankConfig(&comm, 2, id, me.rank(), &config), gyreInProgress);
    if (me.rank() == 0) {
      float x = 1;
      EXPECT_EQ(gyreAllReduce(&x, &x, 1, gyreFloat32, gyreSum, comm, nullptr), gyreInvalidUsage);
      EXPECT_NE(std::string(gyreGetLastError(comm)).find("progress"), std::string::npos);
      me.reach(1);
    }
    EXPECT_EQ(poll_state(comm), gyreSuccess);
    std::int32_t out = me.rank(), in = -1;
    EXPECT_OK(gyreGroupStart());
    EXPECT_OK(gyreSend(&out, 1, gyreInt32, 1 - me.rank(), comm, nullptr));
    EXPECT_OK(gyreRecv(&in, 1, gyreInt32, 1 - me.rank(), comm, nullptr));
    EXPECT_OK(gyreGroupEnd());
    EXPECT_EQ(in, 1 - me.rank());
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST(Life, a_stuck_init_can_be_aborted_from_another_thread) {
  harness::run_world({.ranks = 1}, [](Rank& me) {
    gyreConfig_t config = GYRE_CONFIG_INITIALIZER;
    config.blocking = 0;
    for (const bool abort : {true, false}) {
      gyreComm_t comm = nullptr;
      const gyre::Nanos begin = now_ns();
      EXPECT_EQ(gyreCommInitRankConfig(&comm, 2, me.id(), 0, &config), gyreInProgress);
      std::thread other([&] { EXPECT_OK(abort ? gyreCommAbort(comm) : gyreCommDestroy(comm)); });
      other.join();
      EXPECT_LE(now_ns(), begin + 2_s);
      gyreResult_t state;
      EXPECT_EQ(gyreCommGetAsyncError(comm, &state), gyreInvalidArgument);
    }
  });
}

TEST_P(Life, ranks_named_twice_or_of_different_sizes_are_refused) {
  harness::run_world(on(GetParam(), 3, {{"GYRE_INIT_TIMEOUT", "5s"}}), [](Rank& me) {
    gyreComm_t comm = nullptr;
    const gyreUniqueId id = me.id();
    EXPECT_NE(gyreCommInitRank(&comm, 3, id, me.rank() == 2 ? 1 : me.rank()), gyreSuccess);
    EXPECT_EQ(comm, nullptr);
    me.meet();
    const gyreUniqueId second = me.id(1);
    EXPECT_NE(gyreCommInitRank(&comm, me.rank() == 2 ? 4 : 3, second, me.rank()), gyreSuccess);
    EXPECT_EQ(comm, nullptr);
    me.meet();
  });
}

// Children of children, ended before or after their parents.
void split_for_a_while(gyreComm_t parent, int rank, int size, int depth, std::uint64_t seed) {
  const int colors = size > 2 ? 2 : 1;
  gyreComm_t child = nullptr;
  const int color = rank % colors;
  ASSERT_OK(gyreCommSplit(parent, color, -rank, &child, nullptr));
  const int members = (size - color + colors - 1) / colors;
  int new_rank = -1, count = 0;
  EXPECT_OK(gyreCommUserRank(child, &new_rank));
  EXPECT_OK(gyreCommCount(child, &count));
  ASSERT_EQ(count, members);
  ASSERT_EQ(new_rank, members - 1 - rank / colors) << "ordered by key";
  expect_sum(child, members, 1 + seed % 3000);
  if (depth > 0) split_for_a_while(child, new_rank, count, depth - 1, mix(seed, 5));
  EXPECT_OK(gyreCommDestroy(child));
}

TEST_P(Life, splits_of_splits) {
  harness::run_world(on(GetParam(), 6), [](Rank& me) {
    gyreComm_t comm = me.join();
    for (std::uint64_t i = 0; i < 10; ++i) split_for_a_while(comm, me.rank(), 6, 2, i);
    // The child outlives its parent.
    gyreComm_t child = nullptr;
    ASSERT_OK(gyreCommSplit(comm, 0, me.rank(), &child, nullptr));
    EXPECT_OK(gyreCommDestroy(comm));
    expect_sum(child, 6, 40'000);
    gyreComm_t none = nullptr;
    ASSERT_OK(gyreCommSplit(child, me.rank() == 0 ? 7 : GYRE_SPLIT_NOCOLOR, 0, &none, nullptr));
    EXPECT_EQ(none != nullptr, me.rank() == 0);
    if (none) {
      EXPECT_OK(gyreCommDestroy(none));
    }
    EXPECT_OK(gyreCommDestroy(child));
  });
}

// Four ranks, each with four threads splitting communicators of their own at the same time.
TEST_P(Life, splits_overlap_in_several_threads) {
  harness::run_world(on(GetParam(), 4), [](Rank& me) {
    gyreComm_t comms[4];
    for (int t = 0; t < 4; ++t) comms[t] = me.join(nullptr, t);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (std::uint64_t i = 0; i < (heavy() ? 50u : 6u); ++i)
          split_for_a_while(comms[t], me.rank(), 4, 1, i);
      });
    for (auto& thread : threads) thread.join();
    for (const gyreComm_t comm : comms) EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST_P(Life, finalize_refuses_new_work) {
  harness::run_world(on(GetParam(), 2), [](Rank& me) {
    gyreComm_t comm = me.join();
    expect_sum(comm, 2);
    EXPECT_OK(gyreCommFinalize(comm));
    EXPECT_EQ(gyreBarrier(comm, nullptr), gyreInvalidUsage);
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

}  // namespace
}  // namespace world
