// Abort, revoke and destroy while work is under way, from any thread, whatever the peers do.
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "world/call.h"
#include "world/roads.h"

namespace world {
namespace {

using gyre::now_ns;
using harness::Rank;
using harness::World;
using gyre::operator""_s;

constexpr std::uint32_t kPending = 1, kAborted = 2;

class Abort : public testing::TestWithParam<Road> {};
INSTANTIATE_TEST_SUITE_P(World, Abort, testing::ValuesIn(all_roads()), name_of_road);

// Waits until the communicator knows of a failure.
gyreResult_t await_failure(gyreComm_t comm) {
  gyreResult_t state = gyreSuccess;
  for (const gyre::Nanos deadline = now_ns() + 20_s; state == gyreSuccess && now_ns() < deadline;) {
    EXPECT_OK(gyreCommGetAsyncError(comm, &state));
    std::this_thread::yield();
  }
  return state;
}

// Two communicators with an all-reduce each that rank 3 never joins.
void abort_two(Rank& me, bool backwards, std::size_t count) {
  gyreComm_t comms[2] = {me.join(nullptr, 0), me.join(nullptr, 1)};
  std::vector<float> data[2] = {std::vector<float>(count), std::vector<float>(count)};
  gyreStream_t streams[2];
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(gyreBarrier(comms[i], nullptr));
    EXPECT_OK(gyreHostStreamCreate(&streams[i]));
    if (me.rank() != 3) {
      EXPECT_OK(gyreAllReduce(data[i].data(), data[i].data(), count, gyreFloat32, gyreSum, comms[i],
                              streams[i]));
    }
  }
  me.reach(kPending);
  for (int r = 0; r < 4; ++r) me.await(r, kPending);
  if (me.rank() == 0) {
    for (const int i : {backwards ? 1 : 0, backwards ? 0 : 1}) {
      const gyre::Nanos begin = now_ns();
      EXPECT_OK(gyreCommAbort(comms[i]));
      EXPECT_LE(now_ns(), begin + 2_s);
    }
    me.reach(kAborted);
  } else {
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(await_failure(comms[i]), gyreRemoteError) << gyreGetLastError(comms[i]);
      EXPECT_NE(std::string(gyreGetLastError(comms[i])).find("rank 0 aborted"), std::string::npos)
          << gyreGetLastError(comms[i]);
      EXPECT_OK(gyreCommAbort(comms[i]));
    }
  }
  for (const gyreStream_t stream : streams) {
    const gyreResult_t ended = gyreHostStreamSynchronize(stream);
    if (me.rank() != 3) {
      EXPECT_NE(ended, gyreSuccess);
    }
    EXPECT_OK(gyreHostStreamDestroy(stream));
  }
}

TEST_P(Abort, of_two_communicators_one_after_the_other_returns_in_time) {
  for (const bool backwards : {false, true})
    for (const std::size_t count : {std::size_t{1}, std::size_t{100'000}})
      harness::run_world(on(GetParam(), 4), [=](Rank& me) { abort_two(me, backwards, count); });
}

TEST(Abort, returns_in_time_when_a_peer_is_stopped) {
  for (const Road& road : process_roads()) {
    World world(on(road, 3), [](Rank& me) {
      gyreComm_t comm = me.join();
      EXPECT_OK(gyreBarrier(comm, nullptr));
      if (me.rank() == 2) {
        me.reach(kPending);
        me.await(harness::kTest, kAborted);
        EXPECT_OK(gyreCommDestroy(comm));
        return;
      }
      me.await(harness::kTest, kPending);
      std::thread stuck([&] {
        float x = 1;
        EXPECT_NE(gyreAllReduce(&x, &x, 1, gyreFloat32, gyreSum, comm, nullptr), gyreSuccess);
      });
      const gyre::Nanos begin = now_ns();
      EXPECT_OK(gyreCommAbort(comm));
      EXPECT_LE(now_ns(), begin + 2_s);
      stuck.join();
      me.reach(kAborted);
    });
    ASSERT_TRUE(world.await(2, kPending));
    world.signal(2, SIGSTOP);
    world.reach(kPending);
    for (const int r : {0, 1}) ASSERT_TRUE(world.await(r, kAborted));
    world.signal(2, SIGCONT);
    world.reach(kAborted);
    world.finish();
  }
}

TEST_P(Abort, revoke_stops_work_and_leaves_shrink) {
  harness::run_world(on(GetParam(), 3), [](Rank& me) {
    gyreComm_t comm = me.join();
    EXPECT_OK(gyreBarrier(comm, nullptr));
    if (me.rank() == 0) {
      EXPECT_OK(gyreCommRevoke(comm, 0));
      EXPECT_EQ(gyreBarrier(comm, nullptr), gyreAborted);
    } else {
      EXPECT_EQ(gyreBarrier(comm, nullptr), gyreRemoteError) << gyreGetLastError(comm);
    }
    gyreComm_t child = nullptr;
    ASSERT_OK(gyreCommShrink(comm, nullptr, 0, &child, nullptr, GYRE_SHRINK_DEFAULT));
    std::int32_t sum = 1;
    EXPECT_OK(gyreAllReduce(&sum, &sum, 1, gyreInt32, gyreSum, child, nullptr));
    EXPECT_EQ(sum, 3);
    EXPECT_OK(gyreCommDestroy(comm));
    EXPECT_OK(gyreCommDestroy(child));
  });
}

TEST(Abort, a_dead_handle_is_an_error_and_no_crash) {
  harness::run_world({.ranks = 1}, [](Rank& me) {
    gyreComm_t comm = me.join();
    EXPECT_OK(gyreCommDestroy(comm));
    EXPECT_EQ(gyreBarrier(comm, nullptr), gyreInvalidArgument);
    EXPECT_EQ(gyreCommDestroy(comm), gyreInvalidArgument);
    EXPECT_EQ(gyreCommAbort(comm), gyreInvalidArgument);
    EXPECT_EQ(gyreCommDestroy(nullptr), gyreInvalidArgument);
  });
}

TEST(Abort, work_still_queued_on_a_stream_ends_with_its_communicator) {
  harness::run_world({.ranks = 1}, [](Rank& me) {
    gyreStream_t stream;
    EXPECT_OK(gyreHostStreamCreate(&stream));
    for (int i = 0; i < 200; ++i) {
      gyreComm_t comm = me.join(nullptr, 0);
      float x = 1;
      for (int k = 0; k < 20; ++k)
        EXPECT_OK(gyreAllReduce(&x, &x, 1, gyreFloat32, gyreSum, comm, stream));
      EXPECT_OK(gyreCommDestroy(comm));
      const gyreResult_t ended = gyreHostStreamSynchronize(stream);
      EXPECT_TRUE(ended == gyreSuccess || ended == gyreInvalidArgument) << ended;
    }
    EXPECT_OK(gyreHostStreamDestroy(stream));
  });
}

}  // namespace
}  // namespace world
