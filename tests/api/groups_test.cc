// Groups used badly: ends without starts, handles that die inside, things that do not go together.
#include <array>

#include "api/expect.h"
#include "harness/world.h"

namespace api {
namespace {

using harness::Rank;

std::array<gyreComm_t, 2> pair() {
  std::array<gyreComm_t, 2> comms{};
  EXPECT_OK(gyreCommInitAll(comms.data(), 2, nullptr));
  return comms;
}

void destroy(const std::array<gyreComm_t, 2>& comms) {
  for (gyreComm_t comm : comms) EXPECT_OK(gyreCommDestroy(comm));
}

// One all-reduce of both ranks of this thread.
void expect_usable(const std::array<gyreComm_t, 2>& comms) {
  std::int32_t x[2] = {1, 2};
  EXPECT_OK(gyreGroupStart());
  for (std::size_t k : {0u, 1u})
    EXPECT_OK(gyreAllReduce(&x[k], &x[k], 1, gyreInt32, gyreSum, comms[k], nullptr));
  EXPECT_OK(gyreGroupEnd());
  EXPECT_EQ(x[0] + x[1], 6);
}

TEST(Groups, ends_need_starts) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    gyreSimInfo_t info = GYRE_SIM_INFO_INITIALIZER;
    EXPECT_REFUSED(gyreGroupEnd(), gyreInvalidUsage, "without gyreGroupStart");
    EXPECT_REFUSED(gyreGroupSimulateEnd(&info), gyreInvalidUsage, "without gyreGroupStart");
    EXPECT_REFUSED(gyreGroupSimulateEnd(nullptr), gyreInvalidArgument, "INITIALIZER");
    EXPECT_OK(gyreGroupStart());
    EXPECT_OK(gyreGroupEnd());
    EXPECT_REFUSED(gyreGroupEnd(), gyreInvalidUsage, "without gyreGroupStart");
  });
}

TEST(Groups, a_communicator_destroyed_inside_stops_its_group_before_it_starts) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    for (const std::size_t dead : {0u, 1u})
      for (const bool simulate : {false, true}) {
        auto comms = pair();
        float x[2] = {1, 2};
        gyreSimInfo_t info = GYRE_SIM_INFO_INITIALIZER;
        EXPECT_OK(gyreGroupStart());
        for (std::size_t k : {0u, 1u})
          EXPECT_OK(gyreAllReduce(&x[k], &x[k], 1, gyreFloat32, gyreSum, comms[k], nullptr));
        EXPECT_OK(gyreCommDestroy(comms[dead]));
        EXPECT_REFUSED(simulate ? gyreGroupSimulateEnd(&info) : gyreGroupEnd(), gyreInvalidArgument,
                       "destroyed");
        EXPECT_EQ(x[0], 1);
        EXPECT_EQ(x[1], 2);
        EXPECT_OK(gyreCommDestroy(comms[1 - dead]));
      }
  });
}

TEST(Groups, an_init_destroyed_inside_never_begins) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    gyreUniqueId id;
    gyreComm_t comm = nullptr;
    ASSERT_OK(gyreGetUniqueId(&id));
    EXPECT_OK(gyreGroupStart());
    EXPECT_OK(gyreCommInitRank(&comm, 1, id, 0));
    gyreComm_t early = comm;
    EXPECT_REFUSED(gyreBarrier(early, nullptr), gyreInvalidUsage, "in progress");
    EXPECT_OK(gyreCommDestroy(early));
    EXPECT_REFUSED(gyreGroupEnd(), gyreAborted, "destroyed");
    EXPECT_EQ(comm, nullptr);
  });
}

TEST(Groups, inits_that_are_dropped_leave_no_communicator) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    auto other = pair();
    gyreUniqueId id;
    ASSERT_OK(gyreGetUniqueId(&id));
    for (const bool mixed : {false, true}) {
      gyreComm_t comm = nullptr;
      gyreSimInfo_t info = GYRE_SIM_INFO_INITIALIZER;
      EXPECT_OK(gyreGroupStart());
      EXPECT_OK(gyreCommInitRank(&comm, 1, id, 0));
      if (mixed) {
        EXPECT_OK(gyreBarrier(other[0], nullptr));
        EXPECT_REFUSED(gyreGroupEnd(), gyreInvalidUsage, "not both");
      } else {
        EXPECT_OK(gyreGroupSimulateEnd(&info));
      }
      EXPECT_EQ(comm, nullptr);
    }
    expect_usable(other);
    destroy(other);
  });
}

TEST(Groups, a_refused_call_leaves_the_rest_of_its_group) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    auto comms = pair();
    EXPECT_OK(gyreGroupStart());
    EXPECT_REFUSED(gyreAllReduce(nullptr, nullptr, 9, gyreInt32, gyreSum, comms[0], nullptr),
                   gyreInvalidArgument, "NULL");
    std::int32_t x[2] = {1, 2};
    for (std::size_t k : {0u, 1u})
      EXPECT_OK(gyreAllReduce(&x[k], &x[k], 1, gyreInt32, gyreSum, comms[k], nullptr));
    EXPECT_OK(gyreGroupEnd());
    EXPECT_EQ(x[0] + x[1], 6);
    destroy(comms);
  });
}

TEST(Groups, ranks_of_one_thread_split_in_a_group) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    auto comms = pair();
    std::array<gyreComm_t, 2> children{};
    EXPECT_OK(gyreGroupStart());
    for (std::size_t k : {0u, 1u})
      EXPECT_OK(gyreCommSplit(comms[k], 0, -static_cast<int>(k), &children[k], nullptr));
    ASSERT_OK(gyreGroupEnd());
    int rank = -1;
    EXPECT_OK(gyreCommUserRank(children[0], &rank));
    EXPECT_EQ(rank, 1);
    destroy(comms);
    expect_usable(children);
    destroy(children);
  });
}

TEST(Groups, mix_no_streams_with_the_calling_thread) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    auto comms = pair();
    gyreStream_t stream = nullptr;
    ASSERT_OK(gyreHostStreamCreate(&stream));
    EXPECT_OK(gyreGroupStart());
    EXPECT_OK(gyreBarrier(comms[0], nullptr));
    EXPECT_OK(gyreBarrier(comms[1], stream));
    EXPECT_REFUSED(gyreGroupEnd(), gyreInvalidUsage, "streams on all");
    expect_usable(comms);
    EXPECT_OK(gyreHostStreamDestroy(stream));
    destroy(comms);
  });
}

TEST(Groups, a_stream_destroyed_inside_still_runs_its_calls) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    auto comms = pair();
    gyreStream_t stream = nullptr;
    ASSERT_OK(gyreHostStreamCreate(&stream));
    std::int32_t x[2] = {1, 2};
    EXPECT_OK(gyreGroupStart());
    for (std::size_t k : {0u, 1u})
      EXPECT_OK(gyreAllReduce(&x[k], &x[k], 1, gyreInt32, gyreSum, comms[k], stream));
    EXPECT_OK(gyreHostStreamDestroy(stream));
    EXPECT_OK(gyreGroupEnd());
    for (gyreComm_t comm : comms) EXPECT_OK(gyreCommFinalize(comm));
    EXPECT_EQ(x[0] + x[1], 6);
    destroy(comms);
  });
}

}  // namespace
}  // namespace api
