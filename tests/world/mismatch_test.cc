// Ranks whose calls differ: an error on every rank that names both sides' calls, nothing written
// where nothing should be, and after the small ones a communicator that still works.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "harness/guarded.h"
#include "world/call.h"
#include "world/roads.h"

namespace world {
namespace {

using harness::Guarded;
using harness::Rank;

constexpr int kRanks = 4;
constexpr int kOdd = 2;
constexpr std::size_t kBlock = 1200;

std::string error_of(gyreComm_t comm) { return gyreGetLastError(comm); }
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Difference {
  const char* name;
  gyreResult_t (*call)(bool odd, const void* send, void* recv, gyreComm_t comm);
  const char* ours;  // both must be in every rank's error
  const char* theirs;
};

const Difference kDifferences[] = {
    {"count",
     [](bool odd, const void* send, void* recv, gyreComm_t comm) {
       return gyreAllReduce(send, recv, odd ? 999 : 1000, gyreInt32, gyreSum, comm, nullptr);
     },
     "1000", "999"},
    {"type",
     [](bool odd, const void* send, void* recv, gyreComm_t comm) {
       return gyreAllReduce(send, recv, 100, odd ? gyreFloat16 : gyreFloat32, gyreSum, comm,
                            nullptr);
     },
     "float32", "float16"},
    {"operator",
     [](bool odd, const void* send, void* recv, gyreComm_t comm) {
       return gyreAllReduce(send, recv, 100, gyreInt32, odd ? gyreMax : gyreSum, comm, nullptr);
     },
     "sum", "max"},
    {"collective",
     [](bool odd, const void* send, void* recv, gyreComm_t comm) {
       return odd ? gyreAllGather(send, recv, 100, gyreInt32, comm, nullptr)
                  : gyreAllReduce(send, recv, 100, gyreInt32, gyreSum, comm, nullptr);
     },
     "all_reduce", "all_gather"},
    {"barrier",
     [](bool odd, const void* send, void* recv, gyreComm_t comm) {
       return odd ? gyreBarrier(comm, nullptr)
                  : gyreAllReduce(send, recv, 100, gyreInt32, gyreSum, comm, nullptr);
     },
     "all_reduce", "barrier"},
};

struct Case {
  Road road;
  Difference difference;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.difference.name << " over " << c.road.name;
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const Road& road : all_roads())
    for (const Difference& difference : kDifferences) out.push_back({road, difference});
  return out;
}

class Mismatch : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(World, Mismatch, testing::ValuesIn(cases()), [](const auto& at) {
  return fmt::format("{}_over_{}", at.param.difference.name, at.param.road.name);
});

TEST_P(Mismatch, of_small_calls_names_both_and_leaves_the_communicator_usable) {
  const Difference& difference = GetParam().difference;
  harness::run_world(on(GetParam().road, kRanks, {{"GYRE_TIMEOUT", "10s"}}), [&](Rank& me) {
    gyreComm_t comm = me.join();
    for (int round = 0; round < 10; ++round) {
      const std::size_t bytes = kBlock * 4 * kRanks;
      Guarded send(bytes, false), recv(bytes, false);
      std::fill_n(recv.data(), bytes, std::byte{0x5a});
      const gyreResult_t result =
          difference.call(me.rank() == kOdd, send.data(), recv.data(), comm);
      EXPECT_EQ(result, gyreInvalidUsage) << error_of(comm);
      EXPECT_TRUE(has(error_of(comm), difference.ours)) << error_of(comm);
      EXPECT_TRUE(has(error_of(comm), difference.theirs)) << error_of(comm);
      EXPECT_TRUE(has(error_of(comm), fmt::format("rank {}", kOdd))) << error_of(comm);
      std::int32_t sum = 1;
      ASSERT_OK(gyreAllReduce(&sum, &sum, 1, gyreInt32, gyreSum, comm, nullptr));
      ASSERT_EQ(sum, kRanks);
    }
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

class Mismatches : public testing::TestWithParam<Road> {};
INSTANTIATE_TEST_SUITE_P(World, Mismatches, testing::ValuesIn(all_roads()), name_of_road);

TEST_P(Mismatches, count_1000_and_999_leaves_outputs_untouched) {
  harness::run_world(on(GetParam(), kRanks), [](Rank& me) {
    gyreComm_t comm = me.join();
    const std::size_t count = me.rank() == 0 ? 1000 : 999;
    Guarded send(count * 4, false), recv(count * 4, false);
    const std::uint64_t before = harness::hash_of(recv.data(), recv.bytes());
    EXPECT_EQ(gyreAllReduce(send.data(), recv.data(), count, gyreInt32, gyreSum, comm, nullptr),
              gyreInvalidUsage);
    EXPECT_EQ(before, harness::hash_of(recv.data(), recv.bytes()));
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

// Counts on both sides of every border between ways to send: each rank must hear of it.
TEST_P(Mismatches, counts_of_any_size_are_an_error_everywhere_and_never_pass_a_buffer) {
  const std::pair<std::size_t, std::size_t> counts[] = {
      {100'000, 99'999}, {1000, 100'000}, {100'000, 1}, {1024, 1025}, {1 << 20, 3 << 20}};
  for (const auto& pair : counts) {
    const std::size_t ours = pair.first, theirs = pair.second;
    harness::run_world(on(GetParam(), kRanks, {{"GYRE_TIMEOUT", "10s"}}), [&](Rank& me) {
      gyreComm_t comm = me.join();
      const std::size_t count = me.rank() == kOdd ? theirs : ours;
      Guarded send(count * 4, false), recv(count * 4, false);
      EXPECT_EQ(gyreAllReduce(send.data(), recv.data(), count, gyreInt32, gyreSum, comm, nullptr),
                gyreInvalidUsage)
          << ours << " and " << theirs << ": " << error_of(comm);
      EXPECT_TRUE(has(error_of(comm), std::to_string(ours))) << error_of(comm);
      EXPECT_TRUE(has(error_of(comm), std::to_string(theirs))) << error_of(comm);
      EXPECT_TRUE(send.front_is_whole() && recv.front_is_whole());
      me.meet();
      EXPECT_OK(gyreCommDestroy(comm));
    });
  }
}

TEST_P(Mismatches, roots_that_differ_are_named) {
  for (const std::size_t count : {std::size_t{10}, std::size_t{50'000}})
    harness::run_world(on(GetParam(), kRanks, {{"GYRE_TIMEOUT", "10s"}}), [&](Rank& me) {
      gyreComm_t comm = me.join();
      std::vector<std::int32_t> data(count);
      const int root = me.rank() == kOdd ? 1 : 0;
      EXPECT_EQ(gyreBroadcast(data.data(), data.data(), count, gyreInt32, root, comm, nullptr),
                gyreInvalidUsage)
          << error_of(comm);
      EXPECT_TRUE(has(error_of(comm), "root 0")) << error_of(comm);
      EXPECT_TRUE(has(error_of(comm), "root 1")) << error_of(comm);
      me.meet();
      EXPECT_OK(gyreCommDestroy(comm));
    });
}

TEST_P(Mismatches, a_send_and_a_receive_that_differ_are_an_error_on_both_ends) {
  harness::run_world(on(GetParam(), 2, {{"GYRE_TIMEOUT", "10s"}}), [](Rank& me) {
    gyreComm_t comm = me.join();
    std::vector<std::int32_t> data(200);
    const gyreResult_t result = me.rank() == 0
                                    ? gyreSend(data.data(), 200, gyreInt32, 1, comm, nullptr)
                                    : gyreRecv(data.data(), 100, gyreInt32, 0, comm, nullptr);
    // A sender may be done before the receiver looks; its next call learns of it.
    const gyreResult_t later = result == gyreSuccess ? gyreBarrier(comm, nullptr) : result;
    EXPECT_EQ(later, gyreInvalidUsage) << error_of(comm);
    EXPECT_TRUE(has(error_of(comm), "200")) << error_of(comm);
    EXPECT_TRUE(has(error_of(comm), "100")) << error_of(comm);
    me.meet();
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST_P(Mismatches, an_uneven_exchange_whose_tables_disagree_is_an_error) {
  harness::run_world(on(GetParam(), 2, {{"GYRE_TIMEOUT", "10s"}}), [](Rank& me) {
    gyreComm_t comm = me.join();
    std::vector<std::int32_t> send(300), recv(300);
    const std::size_t out[] = {100, 100}, offsets[] = {0, 100};
    const std::size_t in[] = {100, me.rank() == 0 ? 90u : 100u};
    const gyreResult_t code = gyreAlltoAllV(send.data(), out, offsets, recv.data(), in, offsets,
                                            gyreInt32, comm, nullptr);
    // The receiver finds out; the sender may have finished before it hears of that.
    if (me.rank() == 0 || code != gyreSuccess) {
      EXPECT_EQ(code, gyreInvalidUsage) << error_of(comm);
    }
    me.meet();
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

}  // namespace
}  // namespace world
