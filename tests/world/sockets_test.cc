// Whole calls over several sockets per pair of ranks.
#include <gtest/gtest.h>
#include <signal.h>

#include "world/call.h"

namespace world {
namespace {

using harness::Rank;

harness::Environment sockets(const char* count, harness::Environment more = {}) {
  more.emplace_back("GYRE_TRANSPORT", "tcp");
  more.emplace_back("GYRE_TCP_SOCKETS", count);
  return more;
}

TEST(Sockets, more_of_them_change_no_result) {
  const harness::Environment ways[] = {sockets("3"), sockets("2", {{"GYRE_TCP_ENCRYPT", "1"}}),
                                       sockets("16"),
                                       sockets("3", {{"GYRE_CHAOS", "seed=4,short=900"}})};
  for (const harness::Environment& environment : ways)
    harness::run_world({.ranks = 3, .environment = environment}, [](Rank& me) {
      gyreComm_t comm = me.join();
      for (std::uint64_t i = 0; i < 40 && !testing::Test::HasFailure(); ++i)
        perform_alike(me, comm, draw({}, seed_of_run() * 1'000'000 + i, me.size()));
      EXPECT_OK(gyreCommDestroy(comm));
    });
}

TEST(Sockets, a_killed_rank_is_named_whatever_their_number) {
  harness::World world({.ranks = 3, .environment = sockets("4")}, [](Rank& me) {
    gyreComm_t comm = me.join();
    std::vector<float> data(100'000, 1.0f);
    for (int i = 0;; ++i) {
      const gyreResult_t result =
          gyreAllReduce(data.data(), data.data(), data.size(), gyreFloat32, gyreMax, comm, nullptr);
      if (i == 3) me.reach(1);
      if (result == gyreSuccess) continue;
      EXPECT_EQ(result, gyreRemoteError);
      EXPECT_NE(std::string(gyreGetLastError(comm)).find("rank 2"), std::string::npos)
          << gyreGetLastError(comm);
      break;
    }
    EXPECT_OK(gyreCommDestroy(comm));
  });
  ASSERT_TRUE(world.await(2, 1));
  world.signal(2, SIGKILL);
  world.finish();
}

}  // namespace
}  // namespace world
