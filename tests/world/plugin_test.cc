// Whole calls over a transport from outside the tree.
#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include "world/call.h"
#include "world/roads.h"

namespace world {
namespace {

using harness::Rank;
using harness::World;
using gyre::operator""_s;

const harness::Environment kExample = {{"GYRE_TRANSPORT", "example"},
                                       {"GYRE_TRANSPORT_PLUGIN", GYRE_EXAMPLE_PLUGIN},
                                       {"GYRE_DEBUG", "info"}};

harness::Environment with(harness::Environment more) {
  more.insert(more.begin(), kExample.begin(), kExample.end());
  return more;
}

void draw_and_perform(Rank& me) {
  gyreComm_t comm = me.join();
  for (std::uint64_t i = 0; i < 60 && !testing::Test::HasFailure(); ++i)
    perform_alike(me, comm, draw({}, seed_of_run() * 1'000'000 + i, me.size()));
  EXPECT_OK(gyreCommDestroy(comm));
}

void expect_logged(const World& world, const std::string& text, bool wanted = true) {
  EXPECT_EQ(world.log(0).find(text) != std::string::npos, wanted) << world.log(0);
}

TEST(PluginTransport, carries_every_drawn_call) {
  for (const int ranks : {2, 3, 5}) {
    World world({.ranks = ranks, .environment = kExample}, draw_and_perform);
    world.finish();
    expect_logged(world, "over example");
  }
}

TEST(PluginTransport, carries_calls_under_delay_and_short_reads) {
  harness::run_world(
      {.ranks = 3, .environment = with({{"GYRE_CHAOS", "seed=9,delay=40us,short=5000"}})},
      draw_and_perform);
}

TEST(PluginTransport, is_taken_by_itself_where_it_is_better_and_left_where_it_is_not) {
  for (const bool better : {true, false}) {
    World world({.ranks = 2,
                 .environment = with({{"GYRE_TRANSPORT", "auto"}}),
                 .prepare = [=](int) { setenv("EXAMPLE_SCORE", better ? "1001" : "1000", 1); }},
                draw_and_perform);
    world.finish();
    expect_logged(world, "over example", better);
    expect_logged(world, "over shm", !better);
  }
}

TEST(PluginTransport, that_does_not_reach_a_peer_is_an_error_when_it_was_asked_for) {
  harness::run_world({.ranks = 2,
                      .environment = kExample,
                      .prepare = [](int) { setenv("EXAMPLE_SCORE", "0", 1); }},
                     [](Rank& me) {
                       gyreComm_t comm = me.join();
                       EXPECT_EQ(gyreBarrier(comm, nullptr), gyreInvalidUsage);
                       const std::string why = gyreGetLastError(comm);
                       EXPECT_NE(why.find("example does not reach rank"), std::string::npos) << why;
                       EXPECT_OK(gyreCommDestroy(comm));
                     });
}

TEST(PluginTransport, that_is_missing_is_refused_at_init) {
  harness::run_world({.ranks = 2, .environment = {{"GYRE_TRANSPORT", "nosuch"}}}, [](Rank& me) {
    const gyreUniqueId id = me.id();
    gyreComm_t comm = nullptr;
    EXPECT_EQ(gyreCommInitRank(&comm, 2, id, me.rank()), gyreInvalidUsage);
    EXPECT_NE(std::string(gyreGetLastError(nullptr)).find("libgyre-transport-nosuch.so"),
              std::string::npos)
        << gyreGetLastError(nullptr);
    me.meet();
  });
}

TEST(PluginTransport, names_a_rank_that_was_killed) {
  World world({.ranks = 3, .environment = kExample}, [](Rank& me) {
    gyreComm_t comm = me.join();
    std::vector<float> data(100'000, 1.0f);
    gyreResult_t result = gyreSuccess;
    for (std::uint32_t i = 0; result == gyreSuccess; ++i) {
      if (i == 3) me.reach(1);
      result =
          gyreAllReduce(data.data(), data.data(), data.size(), gyreFloat32, gyreMax, comm, nullptr);
    }
    EXPECT_EQ(result, gyreRemoteError);
    EXPECT_NE(std::string(gyreGetLastError(comm)).find("rank 2"), std::string::npos)
        << gyreGetLastError(comm);
    EXPECT_OK(gyreCommDestroy(comm));
  });
  ASSERT_TRUE(world.await(2, 1));
  world.signal(2, SIGKILL);
  world.finish();
}

}  // namespace
}  // namespace world
