// Variables: what is misspelt, malformed, impossible here, or not the same on all ranks.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "world/call.h"

namespace world {
namespace {

using harness::Rank;
using harness::World;

// Init fails on every rank with a text that has all `parts`.
void expect_refused(harness::WorldOptions options, gyreResult_t code,
                    std::vector<std::string> parts) {
  harness::run_world(std::move(options), [=](Rank& me) {
    if (me.rank() == 0)
      me.word(0).store(static_cast<std::uint64_t>(gyreGetUniqueId(&me.board().ids[0])));
    me.meet();
    // Who makes the id may be refused already; the others then never begin.
    auto result = static_cast<gyreResult_t>(me.word(0, 0).load());
    if (result != gyreSuccess && me.rank() != 0) return;
    gyreComm_t comm = nullptr;
    if (result == gyreSuccess)
      result = gyreCommInitRank(&comm, me.size(), me.board().ids[0], me.rank());
    float x = 0;
    if (result == gyreSuccess)
      result = gyreAllReduce(&x, &x, 1, gyreFloat32, gyreSum, comm, nullptr);
    EXPECT_EQ(result, code) << gyreGetLastError(comm);
    for (const std::string& part : parts)
      EXPECT_NE(std::string(gyreGetLastError(comm)).find(part), std::string::npos)
          << gyreGetLastError(comm);
    if (me.word(0, 0).load() != gyreSuccess) return;
    me.meet();
    if (comm) (void)gyreCommDestroy(comm);
  });
}

TEST(Settings, malformed_values_are_refused_by_name) {
  for (const auto& [name, value] : harness::Environment{{"GYRE_TIMEOUT", "soon"},
                                                        {"GYRE_SLOT_BYTES", "-4"},
                                                        {"GYRE_SLOTS", "four"},
                                                        {"GYRE_DETERMINISTIC", "perhaps"}})
    expect_refused({.ranks = 2, .environment = {{name, value}}}, gyreInvalidUsage, {name, value});
}

TEST(Settings, an_interface_that_is_not_there_is_refused_with_those_that_are) {
  expect_refused({.ranks = 2, .environment = {{"GYRE_SOCKET_IFNAME", "nosuch0"}}}, gyreInvalidUsage,
                 {"GYRE_SOCKET_IFNAME", "nosuch0", "lo"});
}

TEST(Settings, what_must_match_is_compared) {
  struct Setting {
    const char *name, *first, *second;
  };
  for (const Setting& one : {Setting{"GYRE_SLOTS", "4", "8"},
                             {"GYRE_SLOT_BYTES", "64KiB", "32KiB"},
                             {"GYRE_ALGO", "ring", "tree"},
                             {"GYRE_TCP_SOCKETS", "1", "2"},
                             {"GYRE_DETERMINISTIC", "0", "1"}})
    expect_refused(
        {.ranks = 2,
         .prepare = [=](int rank) { setenv(one.name, rank == 0 ? one.first : one.second, 1); }},
        gyreInvalidUsage, {one.name});
}

TEST(Settings, too_many_sockets_are_refused) {
  for (const char* count : {"0", "17", "-1"})
    expect_refused({.ranks = 2, .environment = {{"GYRE_TCP_SOCKETS", count}}}, gyreInvalidUsage,
                   {"GYRE_TCP_SOCKETS", "16"});
}

TEST(Settings, shared_memory_that_is_asked_for_and_not_there_is_an_error) {
  expect_refused(
      {.ranks = 2, .environment = {{"GYRE_TRANSPORT", "shm"}}, .prepare = harness::on_hosts(2, 2)},
      gyreInvalidUsage, {"shm"});
}

TEST(Settings, a_misspelt_name_warns_once_with_the_nearest) {
  World world({.ranks = 2, .environment = {{"GYRE_TIMEOUTT", "5s"}}}, [](Rank& me) {
    for (int i = 0; i < 3; ++i) EXPECT_OK(gyreCommDestroy(me.join(nullptr, i)));
  });
  world.finish();
  const std::string log = world.log(0);
  const std::size_t at = log.find("GYRE_TIMEOUTT");
  ASSERT_NE(at, std::string::npos) << log;
  EXPECT_NE(log.find("did you mean GYRE_TIMEOUT"), std::string::npos) << log;
  EXPECT_EQ(log.find("unknown variable", at + 1), std::string::npos) << "said twice: " << log;
}

TEST(Settings, a_quiet_job_says_nothing) {
  World world({.ranks = 3}, [](Rank& me) {
    gyreComm_t comm = me.join();
    EXPECT_OK(gyreBarrier(comm, nullptr));
    EXPECT_OK(gyreCommDestroy(comm));
  });
  world.finish();
  for (int r = 0; r < 3; ++r) EXPECT_EQ(world.log(r), "");
}

}  // namespace
}  // namespace world
