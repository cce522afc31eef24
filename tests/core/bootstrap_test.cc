#include "core/bootstrap.h"

#include "core/join_ranks.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

// Different lengths, so that a shifted or swapped entry shows.
Blob saying_of(int rank) { return blob_of(std::string(static_cast<std::size_t>(rank) % 7, 'x') + std::to_string(rank)); }

Status gathers_right(Bootstrap& boot, std::string_view step) {
  const auto all = GYRE_TRY(boot.all_gather(step, saying_of(boot.rank())));
  for (int rank = 0; rank < boot.size(); ++rank)
    if (all[static_cast<std::size_t>(rank)] != saying_of(rank))
      return error(Code::internal, "rank {} heard wrongly of rank {}", boot.rank(), rank);
  return {};
}

class JoinSizes : public testing::TestWithParam<int> {};

TEST_P(JoinSizes, all_ranks_hear_all_ranks) {
  const int size = GetParam();
  const auto id = start_job();
  ASSERT_TRUE(id) << id.error().text;
  const auto ends = as_ranks(size, [&](int rank) -> Status {
    Bootstrap boot = GYRE_TRY(Bootstrap::join(options_for({*id}, rank, size)));
    GYRE_TRY(gathers_right(boot, "first"));
    GYRE_TRY(boot.barrier("middle"));
    return gathers_right(boot, "second");
  });
  for (const Status& end : ends) EXPECT_TRUE(end) << text_of(end);
}

INSTANTIATE_TEST_SUITE_P(Bootstrap, JoinSizes, testing::Values(1, 2, 3, 5, 8, 17, 64));

}  // namespace
}  // namespace gyre
