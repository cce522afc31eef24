// Every algorithm of the catalog, forced by name, where it is valid and where it is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "collectives/catalog.h"
#include "world/call.h"

namespace world {
namespace {

using harness::Rank;

std::vector<Kind> kinds_of(gyre::Algorithm algorithm) {
  std::vector<Kind> out;
  for (const gyre::Entry& entry : gyre::catalog())
    for (int k = 0; k < kKinds; ++k)
      if (entry.algorithm == algorithm &&
          std::string(gyre::to_text(entry.collective)) == name_of(static_cast<Kind>(k)))
        out.push_back(static_cast<Kind>(k));
  return out;
}

class Algorithms : public testing::TestWithParam<int> {};

TEST_P(Algorithms, forced_gives_right_answers_on_any_number_of_ranks) {
  const auto algorithm = static_cast<gyre::Algorithm>(GetParam());
  const Menu menu{.kinds = kinds_of(algorithm)};
  ASSERT_FALSE(menu.kinds.empty());
  const int calls = heavy() ? 400 : 25;
  for (const int ranks : {2, 3, 5, 8, 13}) {
    for (const int hosts : {1, 2}) {
      harness::WorldOptions options{.ranks = ranks,
                                    .environment = {{"GYRE_ALGO", gyre::to_text(algorithm)}}};
      if (hosts > 1) options.prepare = harness::on_hosts(ranks, hosts);
      harness::run_world(options, [&](Rank& me) {
        gyreComm_t comm = me.join();
        const auto seed =
            seed_of_run() * 1'000'000 + static_cast<std::uint64_t>(ranks * 1000 + hosts * 500);
        for (int i = 0; i < calls && !testing::Test::HasFailure(); ++i)
          perform_alike(me, comm, draw(menu, seed + static_cast<std::uint64_t>(i), ranks));
        EXPECT_OK(gyreCommDestroy(comm));
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(World, Algorithms, testing::Range(0, gyre::kAlgorithmCount),
                         [](const auto& at) {
                           return std::string(
                               gyre::to_text(static_cast<gyre::Algorithm>(at.param)));
                         });

TEST(Algorithms, an_unknown_name_is_refused_at_init) {
  harness::run_world({.ranks = 2, .environment = {{"GYRE_ALGO", "rings"}}}, [](Rank& me) {
    gyreComm_t comm = nullptr;
    EXPECT_EQ(gyreCommInitRank(&comm, 2, me.id(), me.rank()), gyreInvalidUsage);
    EXPECT_EQ(comm, nullptr);
    EXPECT_NE(std::string(gyreGetLastError(nullptr)).find("rings"), std::string::npos)
        << gyreGetLastError(nullptr);
  });
}

// Sixty-four values, summed under every circumstance: GYRE_DETERMINISTIC promises the same bits.
constexpr int kValues = harness::kWordsPerRank;

void sum_values(Rank& me, gyreDataType_t type, std::size_t count) {
  gyreComm_t comm = me.join();
  const std::size_t elem = bytes_of(type);
  std::vector<std::byte> send(count * elem), recv(count * elem);
  for (std::size_t i = 0; i < count; ++i)
    store(type, send.data(), i, input(type, gyreSum, 99, me.rank(), me.size(), i % kValues));
  EXPECT_OK(gyreAllReduce(send.data(), recv.data(), count, type, gyreSum, comm, nullptr));
  for (std::size_t i = kValues; i < count; ++i)
    ASSERT_EQ(load(type, recv.data(), i), load(type, recv.data(), i % kValues)) << "element " << i;
  for (int i = 0; i < kValues; ++i)
    me.word(i).store(load(type, recv.data(), static_cast<std::size_t>(i)));
  EXPECT_OK(gyreCommDestroy(comm));
}

TEST(Deterministic, sums_have_the_same_bits_whatever_carries_them) {
  constexpr int kRanks = 5;
  for (const gyreDataType_t type : {gyreFloat32, gyreBfloat16}) {
    std::vector<std::uint64_t> expected;
    std::vector<harness::WorldOptions> worlds;
    for (const char* transport : {"auto", "tcp"})
      for (const char* algorithm : {"auto", "ring", "two_shot", "window_push", "halving"})
        worlds.push_back(
            {.ranks = kRanks,
             .environment = {{"GYRE_TRANSPORT", transport}, {"GYRE_ALGO", algorithm}}});
    worlds.push_back({.ranks = kRanks, .threads = true});
    worlds.push_back({.ranks = kRanks, .prepare = harness::on_hosts(kRanks, 2)});
    worlds.push_back(
        {.ranks = kRanks, .environment = {{"GYRE_SLOT_BYTES", "4096"}, {"GYRE_CMA", "0"}}});
    for (harness::WorldOptions& options : worlds) {
      options.environment.emplace_back("GYRE_DETERMINISTIC", "1");
      for (const std::size_t count : {std::size_t{64}, std::size_t{1021}, std::size_t{150'001}}) {
        harness::World world(options, [&](Rank& me) { sum_values(me, type, count); });
        world.finish();
        for (int r = 0; r < kRanks; ++r) {
          std::vector<std::uint64_t> got;
          for (int i = 0; i < kValues; ++i) got.push_back(world.word(r, i));
          if (expected.empty()) expected = got;
          EXPECT_EQ(got, expected) << name_of(type) << " count " << count << " rank " << r;
        }
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace world
