// Whole calls over encrypted TCP.
#include <gtest/gtest.h>

#include <cstdlib>

#include "world/call.h"

namespace world {
namespace {

using harness::Rank;

void draw_and_perform(Rank& me) {
  gyreComm_t comm = me.join();
  for (std::uint64_t i = 0; i < 60 && !testing::Test::HasFailure(); ++i)
    perform_alike(me, comm, draw({}, seed_of_run() * 1'000'000 + i, me.size()));
  EXPECT_OK(gyreCommDestroy(comm));
}

TEST(Encryption, changes_no_result) {
  for (const bool chaos : {false, true}) {
    harness::Environment environment = {{"GYRE_TRANSPORT", "tcp"}, {"GYRE_TCP_ENCRYPT", "1"}};
    if (chaos) environment.emplace_back("GYRE_CHAOS", "seed=4,short=900");
    harness::run_world({.ranks = 3, .environment = environment}, draw_and_perform);
  }
}

TEST(Encryption, that_one_rank_alone_wants_is_refused_at_init) {
  harness::WorldOptions options{.ranks = 2, .environment = {{"GYRE_TRANSPORT", "tcp"}}};
  options.prepare = [](int rank) { setenv("GYRE_TCP_ENCRYPT", rank == 1 ? "1" : "0", 1); };
  harness::run_world(options, [](Rank& me) {
    const gyreUniqueId id = me.id();
    gyreComm_t comm = nullptr;
    EXPECT_EQ(gyreCommInitRank(&comm, 2, id, me.rank()), gyreInvalidUsage);
    EXPECT_NE(std::string(gyreGetLastError(nullptr)).find("GYRE_TCP_ENCRYPT"), std::string::npos)
        << gyreGetLastError(nullptr);
    me.meet();
  });
}

}  // namespace
}  // namespace world
