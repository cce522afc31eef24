// Every collective, type, operator, placement and odd count over every transport, drawn from a
// seed.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "world/call.h"
#include "world/roads.h"

namespace world {
namespace {

using harness::Rank;

// `calls` drawn calls on one communicator.
harness::Body sweep(const Menu& menu, int calls, std::uint64_t salt) {
  const std::uint64_t seed = seed_of_run() * 1'000'000 + salt * 10'000;
  const int count = heavy() ? calls * 20 : calls;
  return [=](Rank& me) {
    gyreComm_t comm = me.join();
    for (int i = 0; i < count && !testing::Test::HasFailure(); ++i)
      perform_alike(me, comm, draw(menu, seed + static_cast<std::uint64_t>(i), me.size()));
    EXPECT_OK(gyreCommDestroy(comm));
  };
}

class Matrix : public testing::TestWithParam<std::tuple<int, Road>> {};

TEST_P(Matrix, every_drawn_call_is_right_and_alike_on_all_ranks) {
  const auto& [ranks, road] = GetParam();
  RecordProperty("seed", fmt::format("{}", seed_of_run()));
  harness::run_world(on(road, ranks),
                     sweep({}, ranks > 8 ? 60 : 200, static_cast<std::uint64_t>(ranks)));
}

INSTANTIATE_TEST_SUITE_P(World, Matrix,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 8, 13, 16, 33),
                                          testing::ValuesIn(all_roads())),
                         [](const auto& at) {
                           return fmt::format("{}_ranks_over_{}", std::get<0>(at.param),
                                              std::get<1>(at.param).name);
                         });

TEST(Matrix, hosts_mixed_of_shared_memory_and_tcp) {
  for (const auto& [ranks, hosts] : {std::pair{4, 2}, {5, 2}, {9, 3}, {6, 6}})
    harness::run_world({.ranks = ranks, .prepare = harness::on_hosts(ranks, hosts)},
                       sweep({}, 60, static_cast<std::uint64_t>(100 + ranks)));
}

TEST(Matrix, small_slots_cut_messages_into_many_chunks) {
  harness::run_world(
      {.ranks = 5,
       .environment = {{"GYRE_SLOT_BYTES", "4096"}, {"GYRE_SLOTS", "2"}, {"GYRE_CMA", "0"}}},
      sweep({.counts = {4097, 20'011}}, 60, 200));
}

// Neighbours in a sequence may use different edges and plans: none may overtake another.
TEST(Matrix, sizes_in_any_order_keep_their_order) {
  for (const bool tcp : {false, true})
    harness::run_world({.ranks = 4, .environment = {{"GYRE_TRANSPORT", tcp ? "tcp" : "auto"}}},
                       sweep({.kinds = {Kind::all_reduce, Kind::all_gather, Kind::broadcast},
                              .counts = {1, 500, 1023, 1025, 3000, 30'000},
                              .types = {gyreInt32, gyreFloat64}},
                             150, 300));
}

}  // namespace
}  // namespace world
