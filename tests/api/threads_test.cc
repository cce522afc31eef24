// Threads and streams against each other: ends while others are inside, work that is still queued.
#include <pthread.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "api/expect.h"
#include "harness/world.h"

namespace api {
namespace {

using harness::Rank;

TEST(Threads, of_one_communicator_take_turns) {
  harness::run_world({.ranks = 2}, [](Rank& me) {
    gyreComm_t comm = me.join();
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    // All calls are alike, so that their order among the threads is nobody's business.
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) {
          std::int32_t x[100];
          std::fill_n(x, 100, 1);
          wrong += gyreAllReduce(x, x, 100, gyreInt32, gyreSum, comm, nullptr) != gyreSuccess;
          wrong += x[0] != 2 || x[99] != 2;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

// A training loop that goes on calling while another thread ends its communicator.
TEST(Threads, a_communicator_may_end_at_any_moment_of_a_loop_of_calls) {
  harness::run_world({.ranks = 1}, [](Rank& me) {
    for (int round = 0; round < 300; ++round) {
      gyreComm_t comm = me.join(nullptr, 0);
      std::atomic<int> calls{0};
      std::thread loop([&] {
        float x = 1;
        gyreResult_t last = gyreSuccess;
        for (; last == gyreSuccess; ++calls)
          last = gyreAllReduce(&x, &x, 1, gyreFloat32, gyreSum, comm, nullptr);
        EXPECT_TRUE(last == gyreAborted || last == gyreInvalidArgument) << last;
        int count = 0;
        EXPECT_EQ(gyreCommCount(comm, &count), gyreInvalidArgument);
      });
      while (calls < round % 50) std::this_thread::yield();
      EXPECT_OK(round % 2 ? gyreCommAbort(comm) : gyreCommDestroy(comm));
      loop.join();
    }
  });
}

TEST(Threads, one_of_many_ends_a_communicator) {
  harness::run_world({.ranks = 1}, [](Rank& me) {
    for (int round = 0; round < 100; ++round) {
      gyreComm_t comm = me.join(nullptr, 0);
      std::atomic<int> ended{0}, refused{0};
      std::vector<std::thread> threads;
      for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
          const gyreResult_t result = t % 2 ? gyreCommAbort(comm) : gyreCommDestroy(comm);
          ended += result == gyreSuccess;
          refused += result == gyreInvalidArgument;
        });
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(ended, 1);
      EXPECT_EQ(refused, 3);
    }
  });
}

TEST(Streams, finalize_waits_for_what_is_queued) {
  harness::run_world({.ranks = 2}, [](Rank& me) {
    gyreComm_t comm = me.join();
    gyreStream_t stream = nullptr;
    ASSERT_OK(gyreHostStreamCreate(&stream));
    std::vector<std::int32_t> x(200'000, 1);
    for (int i = 0; i < 20; ++i)
      EXPECT_OK(gyreAllReduce(x.data(), x.data(), x.size(), gyreInt32, gyreSum, comm, stream));
    EXPECT_OK(gyreGroupStart());
    EXPECT_OK(gyreBarrier(comm, stream));
    EXPECT_OK(gyreGroupEnd());
    EXPECT_OK(gyreCommFinalize(comm));
    EXPECT_EQ(x.front(), 1 << 20);
    EXPECT_EQ(x.back(), 1 << 20);
    EXPECT_OK(gyreHostStreamQuery(stream));
    EXPECT_OK(gyreCommDestroy(comm));
    EXPECT_OK(gyreHostStreamDestroy(stream));
  });
}

TEST(Streams, destroying_one_waits_for_what_is_queued) {
  harness::run_world({.ranks = 2}, [](Rank& me) {
    gyreComm_t comm = me.join();
    gyreStream_t stream = nullptr;
    ASSERT_OK(gyreHostStreamCreate(&stream));
    std::vector<std::int32_t> x(200'000, 1);
    for (int i = 0; i < 20; ++i)
      EXPECT_OK(gyreAllReduce(x.data(), x.data(), x.size(), gyreInt32, gyreSum, comm, stream));
    EXPECT_OK(gyreHostStreamDestroy(stream));
    EXPECT_EQ(x.back(), 1 << 20);
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST(Streams, in_progress_is_no_last_error) {
  harness::run_world({.ranks = 2}, [](Rank& me) {
    gyreComm_t comm = me.join();
    gyreStream_t stream = nullptr;
    ASSERT_OK(gyreHostStreamCreate(&stream));
    EXPECT_REFUSED(gyreBarrier(nullptr, nullptr), gyreInvalidArgument, "NULL");
    if (me.rank() == 1) me.await(0, 1);  // until rank 0 has looked
    EXPECT_OK(gyreBarrier(comm, stream));
    if (me.rank() == 0) {
      EXPECT_EQ(gyreHostStreamQuery(stream), gyreInProgress);
      EXPECT_NE(last_error().find("NULL"), std::string::npos) << last_error();
      me.reach(1);
    }
    EXPECT_OK(gyreHostStreamSynchronize(stream));
    EXPECT_OK(gyreHostStreamDestroy(stream));
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

// Two threads, two streams, groups that name the streams in opposite orders.
TEST(Streams, groups_over_the_same_streams_do_not_wait_for_each_other) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    std::array<gyreComm_t, 2> comms[2];
    gyreStream_t streams[2];
    for (auto& one : comms) ASSERT_OK(gyreCommInitAll(one.data(), 2, nullptr));
    for (gyreStream_t& stream : streams) ASSERT_OK(gyreHostStreamCreate(&stream));
    std::vector<std::thread> threads;
    for (std::size_t t : {0u, 1u})
      threads.emplace_back([&, t] {
        for (int i = 0; i < 300; ++i) {
          EXPECT_OK(gyreGroupStart());
          EXPECT_OK(gyreBarrier(comms[t][0], streams[t]));
          EXPECT_OK(gyreBarrier(comms[t][1], streams[1 - t]));
          EXPECT_OK(gyreGroupEnd());
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (gyreStream_t stream : streams) EXPECT_OK(gyreHostStreamDestroy(stream));
    for (auto& one : comms)
      for (gyreComm_t comm : one) EXPECT_OK(gyreCommDestroy(comm));
  });
}

// No stack can be that large, so no thread begins from here on.
void refuse_threads() {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{1} << 47), 0);
  ASSERT_EQ(pthread_setattr_default_np(&attributes), 0);
}

TEST(Threads, a_process_without_more_of_them_gets_an_error_and_no_communicator) {
  harness::run_world({.ranks = 1}, [](Rank& me) {
    const gyreUniqueId id = me.id();
    std::array<gyreComm_t, 2> ready{}, comms{};
    ASSERT_OK(gyreCommInitAll(ready.data(), 2, nullptr));
    refuse_threads();
    EXPECT_OK(gyreGroupStart());
    for (int r : {0, 1}) EXPECT_OK(gyreCommInitRank(&comms[static_cast<std::size_t>(r)], 2, id, r));
    EXPECT_REFUSED(gyreGroupEnd(), gyreSystemError, "thread");
    gyreConfig_t config = GYRE_CONFIG_INITIALIZER;
    config.blocking = 0;
    EXPECT_REFUSED(gyreCommInitRankConfig(&comms[0], 2, id, 0, &config), gyreSystemError, "thread");
    for (gyreComm_t comm : comms) EXPECT_EQ(comm, nullptr);
    gyreStream_t stream = nullptr;
    EXPECT_REFUSED(gyreHostStreamCreate(&stream), gyreSystemError, "thread");
    EXPECT_OK(gyreGroupStart());
    for (gyreComm_t comm : ready) EXPECT_OK(gyreBarrier(comm, nullptr));
    EXPECT_REFUSED(gyreGroupEnd(), gyreSystemError, "thread");
    gyreUniqueId other;
    EXPECT_REFUSED(gyreGetUniqueId(&other), gyreSystemError, "thread");
    for (gyreComm_t comm : ready) EXPECT_OK(gyreCommDestroy(comm));
  });
}

}  // namespace
}  // namespace api
