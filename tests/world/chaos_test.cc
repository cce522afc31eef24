// Whole calls over links that misbehave: delays, overtaking and short reads change nothing; a cut
// is a named error on every rank.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "world/call.h"
#include "world/roads.h"

namespace world {
namespace {

using harness::Rank;
using gyre::operator""_s;

class ChaosRuns : public testing::TestWithParam<Road> {};
INSTANTIATE_TEST_SUITE_P(World, ChaosRuns, testing::ValuesIn(all_roads()), name_of_road);

TEST_P(ChaosRuns, drawn_calls_are_right_under_delay_and_short_reads) {
  const int seeds = heavy() ? 100 : 6;
  for (int seed = 1; seed <= seeds; ++seed) {
    const std::string faults =
        fmt::format("seed={},delay={}us,short={}", seed, seed % 3 * 40, seed % 2 ? 300 : 50'000);
    SCOPED_TRACE(faults);
    harness::run_world(on(GetParam(), 2 + seed % 4, {{"GYRE_CHAOS", faults}}), [=](Rank& me) {
      gyreComm_t comm = me.join();
      const std::uint64_t first =
          seed_of_run() * 1'000'000 + static_cast<std::uint64_t>(seed) * 1000;
      for (std::uint64_t i = 0; i < 25 && !testing::Test::HasFailure(); ++i)
        perform_alike(me, comm,
                      draw({.counts = {0, 1, 7, 1000, 5003, 70'001}}, first + i, me.size()));
      EXPECT_OK(gyreCommDestroy(comm));
    });
  }
}

// All-reduces and all-to-alls until one fails; the world's limit stands for "never a hang".
void work_until_cut(Rank& me) {
  gyreComm_t comm = me.join();
  const auto n = static_cast<std::size_t>(me.size());
  std::vector<float> send(n * 5000), recv(n * 5000);
  gyreResult_t result = gyreSuccess;
  for (int i = 0; result == gyreSuccess; ++i) {
    const std::size_t count = i % 3 == 0 ? 2 : 5000;
    result =
        i % 2 ? gyreAlltoAll(send.data(), recv.data(), count, gyreFloat32, comm, nullptr)
              : gyreAllReduce(send.data(), recv.data(), count, gyreFloat32, gyreMax, comm, nullptr);
  }
  EXPECT_EQ(result, gyreRemoteError) << gyreGetLastError(comm);
  EXPECT_NE(std::string(gyreGetLastError(comm)).find("rank "), std::string::npos)
      << gyreGetLastError(comm);
  EXPECT_OK(gyreCommDestroy(comm));
}

TEST_P(ChaosRuns, a_cut_ends_every_rank_with_a_name) {
  const int seeds = heavy() ? 100 : 8;
  for (int seed = 1; seed <= seeds; ++seed) {
    const std::string faults = fmt::format("seed={},cut={}", seed, seed % 2 ? 20 : 2000);
    SCOPED_TRACE(faults);
    harness::WorldOptions options = on(GetParam(), 4, {{"GYRE_CHAOS", faults}});
    options.limit = 60_s;
    harness::run_world(options, work_until_cut);
  }
}

TEST(ChaosKnob, a_malformed_wish_is_refused_before_anything_begins) {
  harness::run_world({.ranks = 1, .environment = {{"GYRE_CHAOS", "sead=7"}}}, [](Rank&) {
    gyreUniqueId id;
    EXPECT_EQ(gyreGetUniqueId(&id), gyreInvalidUsage);
    EXPECT_NE(std::string(gyreGetLastError(nullptr)).find("GYRE_CHAOS='sead=7'"), std::string::npos)
        << gyreGetLastError(nullptr);
  });
}

}  // namespace
}  // namespace world
