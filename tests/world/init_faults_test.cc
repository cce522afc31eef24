// One rank fails somewhere inside init, at each place where it can: the others hear of it in time.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/check.h"
#include "world/roads.h"

namespace world {
namespace {

using harness::Rank;
using harness::World;

constexpr int kRanks = 4, kBroken = 1;
constexpr std::uint64_t kRefused = 1, kNamesHim = 2;

class InitFaults : public testing::TestWithParam<Road> {};
INSTANTIATE_TEST_SUITE_P(World, InitFaults, testing::ValuesIn(process_roads()), name_of_road);

rlim_t open_descriptors() {
  rlim_t out = 0;
  DIR* folder = opendir("/proc/self/fd");
  GYRE_CHECK(folder);
  while (readdir(folder)) ++out;
  closedir(folder);
  return out - 3;  // ".", ".." and the folder itself
}

// A communicator and a first call over all its links.
gyreResult_t come_together(Rank& me, const gyreUniqueId& id, gyreComm_t* comm) {
  const gyreResult_t made = gyreCommInitRank(comm, kRanks, id, me.rank());
  if (made != gyreSuccess) return made;
  std::int32_t send[kRanks] = {}, recv[kRanks];
  return gyreAlltoAll(send, recv, 1, gyreInt32, *comm, nullptr);
}

// Rank 1 may open so many descriptors more: each number is a failure at another step, from the call
// to the root to the last link.
TEST_P(InitFaults, no_more_descriptors_at_any_step_is_an_error_everywhere_in_time) {
#ifdef GYRE_DESCRIPTORS_NEEDED
  GTEST_SKIP() << "the vptr sanitizer needs a pipe to look at an object";
#endif
  int refusals = 0;
  for (rlim_t more = 0;; ++more) {
    ASSERT_LT(more, 64u) << "rank 1 never had enough";
    World world(
        on(GetParam(), kRanks, {{"GYRE_INIT_TIMEOUT", "3s"}, {"GYRE_TIMEOUT", "3s"}}),
        [more](Rank& me) {
          const gyreUniqueId id = me.id();
          if (me.rank() == kBroken) {
            const rlimit limit{open_descriptors() + more, open_descriptors() + more};
            GYRE_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
          }
          gyreComm_t comm = nullptr;
          const gyreResult_t result = come_together(me, id, &comm);
          const std::string why = gyreGetLastError(comm);
          const bool named =
              why.find("rank 1") != std::string::npos ||
              (me.rank() == kBroken && why.find("RLIMIT_NOFILE") != std::string::npos);
          me.word(0).store((result != gyreSuccess ? kRefused : 0) | (named ? kNamesHim : 0));
          if (result != gyreSuccess && !named) fprintf(stderr, "said: %s\n", why.c_str());
          me.meet();
          if (comm) (void)gyreCommDestroy(comm);
        });
    world.finish();
    std::uint64_t refused = 0;
    for (int r = 0; r < kRanks; ++r) {
      refused += world.word(r, 0) & kRefused;
      EXPECT_NE(world.word(r, 0), kRefused) << "with " << more << " descriptors rank " << r
                                            << " does not name rank 1: " << world.log(r);
    }
    EXPECT_TRUE(refused == 0 || refused == kRanks)
        << "with " << more << " descriptors " << refused << " of " << kRanks << " ranks failed";
    if (refused == 0) break;
    ++refusals;
    if (HasFailure()) break;
  }
  EXPECT_GT(refusals, 3);
}

}  // namespace
}  // namespace world
