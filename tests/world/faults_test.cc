// Ranks that die, stop, leave or fall behind: the others learn it in time, by name, and can go on.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <thread>

#include <fmt/format.h>

#include "world/call.h"
#include "world/roads.h"

namespace world {
namespace {

using gyre::now_ns;
using harness::Rank;
using harness::World;
using gyre::operator""_s;

constexpr int kVictim = 2;
constexpr std::uint32_t kLooping = 1, kDone = 2;
enum Word { kFailedAt };

// All-reduces in place until one fails; tells when. Gives the code.
gyreResult_t loop_until_failure(const Rank& me, gyreComm_t comm, std::vector<float>& data) {
  for (std::uint32_t i = 0;; ++i) {
    if (i == 5) me.reach(kLooping);
    const gyreResult_t result =
        gyreAllReduce(data.data(), data.data(), data.size(), gyreFloat32, gyreMax, comm, nullptr);
    if (result == gyreSuccess) continue;
    me.word(kFailedAt).store(static_cast<std::uint64_t>(now_ns()));
    return result;
  }
}

void expect_text(const char* text, const std::string& part) {
  EXPECT_NE(std::string(text).find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

double seconds_since(gyre::Nanos begin) { return static_cast<double>(now_ns() - begin) * 1e-9; }

// Lets the ranks live for a while: the span itself is what the test is about.
void let_pass(gyre::Nanos span) { ::poll(nullptr, 0, static_cast<int>(span / 1'000'000)); }

class Faults : public testing::TestWithParam<Road> {};
INSTANTIATE_TEST_SUITE_P(World, Faults, testing::ValuesIn(process_roads()), name_of_road);

// The survivors of rank kVictim's death, however large their messages.
void survive(Rank& me, std::size_t count) {
  gyreComm_t comm = me.join();
  std::vector<float> data(count, 1.0f);
  EXPECT_EQ(loop_until_failure(me, comm, data), gyreRemoteError) << gyreGetLastError(comm);
  expect_text(gyreGetLastError(comm), fmt::format("rank {}", kVictim));
  // It stays so, and at once.
  EXPECT_EQ(gyreBarrier(comm, nullptr), gyreRemoteError);
  gyreResult_t state = gyreSuccess;
  EXPECT_OK(gyreCommGetAsyncError(comm, &state));
  EXPECT_EQ(state, gyreRemoteError);
  EXPECT_OK(gyreCommDestroy(comm));
}

TEST_P(Faults, a_killed_rank_is_named_by_every_survivor) {
  for (const std::size_t count : {std::size_t{8}, std::size_t{20'000}, std::size_t{4} << 20}) {
    World world(on(GetParam(), 4), [=](Rank& me) { survive(me, count); });
    ASSERT_TRUE(world.await(kVictim, kLooping));
    const gyre::Nanos killed = now_ns();
    world.signal(kVictim, SIGKILL);
    world.finish();
    for (const int r : {0, 1, 3})
      EXPECT_LE(static_cast<gyre::Nanos>(world.word(r, kFailedAt)), killed + 5_s) << "rank " << r;
  }
}

// Messages to and from everyone on first use, with one who is dead before he has made any link.
TEST_P(Faults, a_rank_that_dies_before_its_first_message_is_named) {
  World world(on(GetParam(), 4), [](Rank& me) {
    gyreComm_t comm = me.join();
    std::vector<std::int32_t> out(100'000, me.rank()), in(4 * out.size());
    me.reach(kLooping);
    me.await(harness::kTest, kLooping);
    EXPECT_OK(gyreGroupStart());
    for (int peer = 0; peer < 4; ++peer) {
      std::int32_t* into = in.data() + static_cast<std::size_t>(peer) * out.size();
      EXPECT_OK(gyreSend(out.data(), out.size(), gyreInt32, peer, comm, nullptr));
      EXPECT_OK(gyreRecv(into, out.size(), gyreInt32, peer, comm, nullptr));
    }
    EXPECT_EQ(gyreGroupEnd(), gyreRemoteError) << gyreGetLastError(comm);
    me.word(kFailedAt).store(static_cast<std::uint64_t>(now_ns()));
    expect_text(gyreGetLastError(comm), fmt::format("rank {}", kVictim));
    EXPECT_OK(gyreCommDestroy(comm));
  });
  for (int r = 0; r < 4; ++r) ASSERT_TRUE(world.await(r, kLooping));
  world.signal(kVictim, SIGKILL);
  const gyre::Nanos killed = now_ns();
  world.reach(kLooping);
  world.finish();
  for (const int r : {0, 1, 3})
    EXPECT_LE(static_cast<gyre::Nanos>(world.word(r, kFailedAt)), killed + 5_s) << "rank " << r;
}

TEST_P(Faults, a_rank_that_exits_without_a_word_is_named_by_every_survivor) {
  harness::run_world(on(GetParam(), 4), [](Rank& me) {
    if (me.rank() != kVictim) return survive(me, 4096);
    gyreComm_t comm = me.join();
    std::vector<float> data(4096);
    for (int i = 0; i < 20; ++i)
      EXPECT_OK(gyreAllReduce(data.data(), data.data(), data.size(), gyreFloat32, gyreMax, comm,
                              nullptr));
    _exit(0);
  });
}

TEST_P(Faults, a_rank_that_destroys_early_is_named_by_every_survivor) {
  harness::run_world(on(GetParam(), 4), [](Rank& me) {
    if (me.rank() != kVictim) return survive(me, 4096);
    gyreComm_t comm = me.join();
    std::vector<float> data(4096);
    for (int i = 0; i < 20; ++i)
      EXPECT_OK(gyreAllReduce(data.data(), data.data(), data.size(), gyreFloat32, gyreMax, comm,
                              nullptr));
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

// Every socket of this process, as a peer's stack that stops sending but still listens.
void close_sending_half() {
  for (int fd = 3; fd < 256; ++fd) (void)::shutdown(fd, SHUT_WR);
}

TEST(Faults, a_rank_that_half_closes_its_sockets_is_named_and_nobody_spins_after) {
  harness::run_world(on(Road{"tcp", false, {{"GYRE_TRANSPORT", "tcp"}}}, 4), [](Rank& me) {
    gyreComm_t comm = me.join();
    std::vector<float> data(std::size_t{4} << 20);
    std::thread closer;
    if (me.rank() == kVictim)
      closer = std::thread([&] {
        me.await(kVictim, kLooping);
        close_sending_half();
      });
    EXPECT_EQ(loop_until_failure(me, comm, data), gyreRemoteError) << gyreGetLastError(comm);
    if (me.rank() == kVictim)
      closer.join();
    else
      expect_text(gyreGetLastError(comm), fmt::format("rank {}", kVictim));
    const double used = cpu_seconds();
    let_pass(1_s);
    EXPECT_LT(cpu_seconds() - used, 0.1) << "something still spins";
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST_P(Faults, a_short_stop_does_no_harm) {
  World world(on(GetParam(), 4), [](Rank& me) {
    gyreComm_t comm = me.join();
    for (int i = 0; i < 60; ++i) {
      std::vector<float> data(30'000, static_cast<float>(i));
      ASSERT_OK(gyreAllReduce(data.data(), data.data(), data.size(), gyreFloat32, gyreSum, comm,
                              nullptr));
      for (const float x : data) ASSERT_EQ(x, static_cast<float>(4 * i));
      if (i == 5 && me.rank() == kVictim) {
        me.reach(kLooping);
        me.await(harness::kTest, kLooping);
      }
    }
    EXPECT_OK(gyreCommDestroy(comm));
  });
  ASSERT_TRUE(world.await(kVictim, kLooping));
  world.signal(kVictim, SIGSTOP);
  world.reach(kLooping);
  let_pass(heavy() ? 3_s : 1_s);
  world.signal(kVictim, SIGCONT);
  world.finish();
}

TEST_P(Faults, a_long_stop_is_a_timeout_that_names_rank_and_operation) {
  World world(on(GetParam(), 4, {{"GYRE_TIMEOUT", "2s"}}), [](Rank& me) {
    gyreComm_t comm = me.join();
    std::vector<float> data(30'000);
    const gyreResult_t result = loop_until_failure(me, comm, data);
    if (me.rank() != kVictim) {
      EXPECT_EQ(result, gyreTimeout) << gyreGetLastError(comm);
      // Alone, or beside those who wait for it as well.
      const testing::Matcher<std::string> named = testing::ContainsRegex("ranks? ([0-9], )*2");
      EXPECT_TRUE(named.Matches(gyreGetLastError(comm))) << gyreGetLastError(comm);
      expect_text(gyreGetLastError(comm), "all_reduce #");
    }
    EXPECT_OK(gyreCommDestroy(comm));
    me.reach(kDone);
  });
  ASSERT_TRUE(world.await(kVictim, kLooping));
  world.signal(kVictim, SIGSTOP);
  for (const int r : {0, 1, 3}) ASSERT_TRUE(world.await(r, kDone));
  world.signal(kVictim, SIGCONT);
  world.finish();
}

TEST_P(Faults, a_skipped_call_is_a_timeout_within_its_limit) {
  harness::run_world(on(GetParam(), 4, {{"GYRE_TIMEOUT", "2s"}}), [](Rank& me) {
    gyreComm_t comm = me.join();
    float x = 1;
    for (int i = 0; i < 3; ++i)
      EXPECT_OK(gyreAllReduce(&x, &x, 1, gyreFloat32, gyreMax, comm, nullptr));
    if (me.rank() != 1) {
      const gyre::Nanos begin = now_ns();
      EXPECT_EQ(gyreAllReduce(&x, &x, 1, gyreFloat32, gyreMax, comm, nullptr), gyreTimeout);
      EXPECT_GE(seconds_since(begin), 1.9);
      EXPECT_LE(seconds_since(begin), 6.0);
      expect_text(gyreGetLastError(comm), "rank 1");
      expect_text(gyreGetLastError(comm), "all_reduce #4");
      me.reach(kDone);
    } else {
      for (const int r : {0, 2, 3}) me.await(r, kDone);
    }
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST_P(Faults, destroy_does_not_wait_for_the_dead) {
  World world(on(GetParam(), 3), [](Rank& me) {
    gyreComm_t comm = me.join();
    EXPECT_OK(gyreBarrier(comm, nullptr));
    if (me.rank() == 1) {
      me.reach(kLooping);
      ::pause();
    }
    me.await(harness::kTest, kDone);  // once rank 1 is dead
    const gyre::Nanos begin = now_ns();
    EXPECT_OK(gyreCommDestroy(comm));
    EXPECT_LE(seconds_since(begin), 5.0);
  });
  ASSERT_TRUE(world.await(1, kLooping));
  world.signal(1, SIGKILL);
  world.reach(kDone);
  world.finish();
}

void expect_sums(gyreComm_t comm, int ranks, int times) {
  for (int i = 0; i < times; ++i) {
    std::vector<std::int32_t> data(i % 2 ? 30'000 : 3, i);
    ASSERT_OK(
        gyreAllReduce(data.data(), data.data(), data.size(), gyreInt32, gyreSum, comm, nullptr));
    for (const std::int32_t x : data) ASSERT_EQ(x, i * ranks);
  }
}

// Rank 3 goes in one of four ways; the others shrink and work on.
enum class Exit { dies_idle, dies_busy, destroys, lives };

void shrink_without_last(Rank& me, Exit how) {
  gyreComm_t comm = me.join();
  std::vector<float> data(50'000);
  if (me.rank() == 3) {
    expect_sums(comm, 4, 5);
    if (how == Exit::destroys) {
      EXPECT_OK(gyreCommDestroy(comm));
    }
    // A process that ends takes with it what its kernel has not sent yet.
    for (int r = 0; r < 3 && how != Exit::destroys; ++r) me.await(r, kLooping);
    if (how != Exit::lives) _exit(testing::Test::HasFailure() ? 1 : 0);
    for (int r = 0; r < 3; ++r) me.await(r, kDone);
    EXPECT_OK(gyreCommDestroy(comm));
    return;
  }
  expect_sums(comm, 4, 5);
  me.reach(kLooping);
  if (how == Exit::dies_busy) {
    EXPECT_EQ(loop_until_failure(me, comm, data), gyreRemoteError);
  }
  const gyre::Nanos begin = now_ns();
  int gone = 3;
  gyreComm_t child = nullptr;
  ASSERT_OK(gyreCommShrink(comm, &gone, 1, &child, nullptr, GYRE_SHRINK_ABORT));
  EXPECT_LE(seconds_since(begin), 5.0);
  int size = 0;
  EXPECT_OK(gyreCommCount(child, &size));
  EXPECT_EQ(size, 3);
  expect_sums(child, 3, 100);
  me.reach(kDone);
  EXPECT_OK(gyreCommDestroy(comm));
  expect_sums(child, 3, 5);
  EXPECT_OK(gyreCommDestroy(child));
}

TEST_P(Faults, survivors_shrink_and_work_on) {
  for (const Exit how : {Exit::dies_idle, Exit::dies_busy, Exit::destroys, Exit::lives})
    harness::run_world(on(GetParam(), 4), [=](Rank& me) { shrink_without_last(me, how); });
}

// A group of its own, since the id's owner must live on.
TEST_P(Faults, a_rank_that_dies_during_init_ends_everyones_init) {
  for (int step = 0; step < (heavy() ? 40 : 8); ++step) {
    World world(on(GetParam(), 4, {{"GYRE_INIT_TIMEOUT", "3s"}}), [=](Rank& me) {
      const gyreUniqueId id = me.id();
      me.reach(kLooping);
      if (me.rank() == kVictim) {
        // Dies of its own timer somewhere in init, or just before.
        timer_t timer;
        sigevent event{};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGKILL;
        ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
        const itimerspec when{{}, {0, 1 + 400'000 * step}};
        ASSERT_EQ(timer_settime(timer, 0, &when, nullptr), 0);
      }
      gyreComm_t comm = nullptr;
      const gyre::Nanos begin = now_ns();
      const gyreResult_t made = gyreCommInitRank(&comm, 4, id, me.rank());
      if (me.rank() == kVictim) ::pause();
      EXPECT_LE(seconds_since(begin), 10.0);
      if (made == gyreSuccess) {
        float x = 1;
        EXPECT_NE(gyreAllReduce(&x, &x, 1, gyreFloat32, gyreMax, comm, nullptr), gyreSuccess);
        EXPECT_OK(gyreCommDestroy(comm));
      } else {
        expect_text(gyreGetLastError(nullptr), "rank 2");
      }
      me.reach(kDone);
      for (const int r : {1, 3})
        if (me.rank() == 0) me.await(r, kDone);  // the root must not leave before the others
    });
    ASSERT_TRUE(world.await(kVictim, kLooping));
    world.expect_death(kVictim);
    world.finish();
  }
}

TEST_P(Faults, a_rank_that_never_comes_is_named_when_init_times_out) {
  harness::run_world(on(GetParam(), 4, {{"GYRE_INIT_TIMEOUT", "1s"}}), [](Rank& me) {
    const gyreUniqueId id = me.id();
    if (me.rank() != 3) {
      gyreComm_t comm = nullptr;
      EXPECT_EQ(gyreCommInitRank(&comm, 4, id, me.rank()), gyreTimeout);
      expect_text(gyreGetLastError(nullptr), "3");
      EXPECT_EQ(comm, nullptr);
    }
    me.meet();  // the root must not leave before the others have heard
  });
}

}  // namespace
}  // namespace world
