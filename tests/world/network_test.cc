// Ranks on hosts of their own: four network namespaces on a bridge.
#include <gtest/gtest.h>
#include <signal.h>

#include "harness/network.h"
#include "world/call.h"

namespace world {
namespace {

using gyre::now_ns;
using harness::Network;
using harness::Rank;
using harness::World;
using gyre::operator""_s;

constexpr int kHosts = 4;
constexpr std::uint32_t kLooping = 1;

class Hosts : public testing::Test {
 protected:
  void SetUp() override {
    if (!network_) GTEST_SKIP() << "network namespaces need root";
  }
  // A process's host identity is the machine's; pretended hosts need names of their own.
  std::function<void(int)> placed(int ranks_per_host = 1) const {
    return [this, ranks_per_host](int rank) {
      const int host = rank / ranks_per_host;
      network_.enter(host);
      setenv("GYRE_HOST_ID", ("host-" + std::to_string(host)).c_str(), 1);
    };
  }

  Network network_{kHosts};
};

TEST_F(Hosts, every_drawn_call_is_right_across_hosts) {
  for (const int per_host : {1, 2})
    harness::run_world({.ranks = kHosts * per_host, .prepare = placed(per_host)}, [](Rank& me) {
      gyreComm_t comm = me.join();
      const std::uint64_t seed = seed_of_run() * 1'000'000 + 500;
      for (std::uint64_t i = 0; i < (heavy() ? 1000u : 80u) && !testing::Test::HasFailure(); ++i)
        perform_alike(me, comm, draw({}, seed + i, me.size()));
      EXPECT_OK(gyreCommDestroy(comm));
    });
}

TEST_F(Hosts, separate_namespaces_of_one_machine_need_no_settings) {
  harness::run_world({.ranks = 2, .prepare = [this](int rank) { network_.enter(rank); }},
                     [](Rank& me) {
                       gyreComm_t comm = me.join();
                       for (std::uint64_t i = 0; i < 30; ++i)
                         perform_alike(me, comm, draw({}, 900 + i, me.size()));
                       EXPECT_OK(gyreCommDestroy(comm));
                     });
}

void loop_until_it_fails(Rank& me, gyreResult_t expected) {
  gyreComm_t comm = me.join();
  std::vector<float> data(100'000);
  gyreResult_t result = gyreSuccess;
  for (int i = 0; result == gyreSuccess; ++i) {
    if (i == 10) me.reach(kLooping);
    result =
        gyreAllReduce(data.data(), data.data(), data.size(), gyreFloat32, gyreMax, comm, nullptr);
  }
  me.word(0).store(static_cast<std::uint64_t>(now_ns()));
  EXPECT_EQ(result, expected) << gyreGetLastError(comm);
  EXPECT_NE(std::string(gyreGetLastError(comm)).find("rank 2"), std::string::npos)
      << gyreGetLastError(comm);
  EXPECT_OK(gyreCommDestroy(comm));
}

TEST_F(Hosts, a_killed_rank_is_named_across_hosts) {
  World world({.ranks = kHosts, .prepare = placed()},
              [](Rank& me) { loop_until_it_fails(me, gyreRemoteError); });
  ASSERT_TRUE(world.await(2, kLooping));
  const gyre::Nanos killed = now_ns();
  world.signal(2, SIGKILL);
  world.finish();
  for (const int r : {0, 1, 3}) EXPECT_LE(static_cast<gyre::Nanos>(world.word(r, 0)), killed + 5_s);
}

// Nobody says that a host is gone: unanswered packets have to.
TEST_F(Hosts, a_host_that_vanishes_is_named_by_the_others) {
  World world({.ranks = kHosts, .prepare = placed()}, [](Rank& me) {
    if (me.rank() != 2) return loop_until_it_fails(me, gyreRemoteError);
    gyreComm_t comm = me.join();
    std::vector<float> data(100'000);
    for (std::uint32_t i = 0;; ++i) {
      if (i == 10) me.reach(kLooping);
      if (gyreAllReduce(data.data(), data.data(), data.size(), gyreFloat32, gyreMax, comm,
                        nullptr) != gyreSuccess)
        break;
    }
    EXPECT_OK(gyreCommDestroy(comm));
  });
  ASSERT_TRUE(world.await(2, kLooping));
  const gyre::Nanos gone = now_ns();
  ASSERT_TRUE(network_.cut(2));
  world.finish();
  for (const int r : {0, 1, 3}) EXPECT_LE(static_cast<gyre::Nanos>(world.word(r, 0)), gone + 10_s);
}

}  // namespace
}  // namespace world
