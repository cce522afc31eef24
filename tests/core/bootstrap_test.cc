#include "core/bootstrap.h"

#include "core/join_ranks.h"
#include "core/processes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

namespace gyre {
namespace {

// Different lengths, so that a shifted or swapped entry shows.
Blob saying_of(int rank) {
  return blob_of(std::string(static_cast<std::size_t>(rank) % 7, 'x') + std::to_string(rank));
}

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

TEST(Bootstrap, several_roots_serve_blocks_of_ranks) {
  struct Shape {
    int size, roots;
  };
  for (const Shape shape : {Shape{2, 2}, Shape{5, 3}, Shape{16, 4}, Shape{33, 5}}) {
    std::vector<JobId> ids;
    for (int i = 0; i < shape.roots; ++i) ids.push_back(*start_job());
    for (const Status& end : as_ranks(shape.size, [&](int rank) -> Status {
           Bootstrap boot = GYRE_TRY(Bootstrap::join(options_for(ids, rank, shape.size)));
           return gathers_right(boot, "cards");
         }))
      EXPECT_TRUE(end) << shape.size << " ranks, " << shape.roots << " roots: " << text_of(end);
  }
}

TEST(Bootstrap, several_roots_pass_on_each_others_failures) {
  const std::vector<JobId> ids{*start_job(), *start_job()};
  // Ranks 0-3 and 4-7; rank 6 is there twice, so root 1 fails, and root 0 must hear of it.
  const int ranks[] = {0, 1, 2, 3, 4, 5, 6, 6};
  for (const Status& end : as_ranks(8, [&](int i) -> Status {
         GYRE_TRY(Bootstrap::join(options_for(ids, ranks[i], 8, 60_s)));
         return {};
       })) {
    ASSERT_FALSE(end);
    EXPECT_NE(text_of(end).find("two processes say they are rank 6"), std::string::npos)
        << text_of(end);
  }
}

TEST(Bootstrap, sockets_per_rank_grow_with_the_logarithm) {
  const auto id = start_job();
  for (const Status& end : as_ranks(64, [&](int rank) -> Status {
         Bootstrap boot = GYRE_TRY(Bootstrap::join(options_for({*id}, rank, 64)));
         const int count = boot.socket_count();
         GYRE_TRY(boot.barrier("counted"));
         if (count <= 6) return {};
         return error(Code::internal, "rank {} holds {} sockets", rank, count);
       }))
    EXPECT_TRUE(end) << text_of(end);
}

TEST(Bootstrap, large_and_empty_contributions_mix) {
  constexpr int kSize = 7;
  const auto id = start_job();
  for (const Status& end : as_ranks(kSize, [&](int rank) -> Status {
         Bootstrap boot = GYRE_TRY(Bootstrap::join(options_for({*id}, rank, kSize)));
         const Blob mine(rank % 2 ? 0u : 3u << 20, static_cast<std::byte>(rank));
         const auto all = GYRE_TRY(boot.all_gather("large", mine));
         for (std::size_t other = 0; other < kSize; ++other)
           if (all[other] != Blob(other % 2 ? 0u : 3u << 20, static_cast<std::byte>(other)))
             return error(Code::internal, "rank {} has wrong bytes of {}", rank, other);
         return {};
       }))
    EXPECT_TRUE(end) << text_of(end);
}

// Whoever fails at whichever step: all others say the same sentence, which names it.
TEST(Bootstrap, a_failing_rank_is_named_by_all_at_any_step) {
  constexpr int kSize = 6;
  for (int culprit = 0; culprit < kSize; ++culprit) {
    for (int step = 0; step < 3; ++step) {
      const auto id = start_job();
      const auto ends = as_ranks(kSize, [&](int rank) -> Status {
        Bootstrap boot = GYRE_TRY(Bootstrap::join(options_for({*id}, rank, kSize, 60_s)));
        for (int i = 0; i < 3; ++i) {
          if (rank == culprit && i == step) {
            Error why = error(Code::system, "no memory left");
            boot.fail(fmt::format("step {}", i), why);
            return why;
          }
          GYRE_TRY(boot.all_gather(fmt::format("step {}", i), saying_of(rank)));
        }
        return {};
      });
      for (int rank = 0; rank < kSize; ++rank) {
        if (rank == culprit) continue;
        const Status& end = ends[static_cast<std::size_t>(rank)];
        EXPECT_EQ(text_of(end),
                  fmt::format("rank {} failed at step 'step {}': no memory left", culprit, step));
        ASSERT_FALSE(end);
        EXPECT_EQ(end.error().code, Code::remote);
        EXPECT_EQ(end.error().rank, culprit);
      }
    }
  }
}

TEST(Bootstrap, a_killed_process_is_named_by_all_the_others) {
  constexpr int kSize = 5;
  for (int victim = 0; victim < kSize; ++victim) {
    const auto id = start_job();
    std::vector<Process> ranks;
    for (int rank = 0; rank < kSize; ++rank)
      ranks.emplace_back([&, rank]() -> std::string {
        auto boot = Bootstrap::join(options_for({*id}, rank, kSize, 60_s));
        if (!boot) return boot.error().text;
        if (rank == victim) ::raise(SIGKILL);
        return text_of(boot->barrier("after the kill"));
      });
    for (int rank = 0; rank < kSize; ++rank) {
      const std::string answer = ranks[static_cast<std::size_t>(rank)].answer();
      if (rank == victim)
        EXPECT_EQ(answer, "");
      else
        EXPECT_EQ(answer.find(fmt::format("rank {} failed at step 'after the kill'", victim)), 0u)
            << answer;
    }
  }
}

TEST(Bootstrap, sixty_four_processes_meet) {
  constexpr int kSize = 64;
  const auto id = start_job();
  std::vector<Process> ranks;
  for (int rank = 0; rank < kSize; ++rank)
    ranks.emplace_back([&, rank]() -> std::string {
      auto boot = Bootstrap::join(options_for({*id}, rank, kSize));
      return boot ? text_of(gathers_right(*boot, "cards")) : boot.error().text;
    });
  for (Process& rank : ranks) EXPECT_EQ(rank.answer(), "ok");
}

TEST(Bootstrap, a_silent_rank_is_named_in_the_time_out) {
  constexpr int kSize = 8;
  const auto id = start_job();
  std::atomic<int> finished{0};
  const auto ends = as_ranks(kSize, [&](int rank) -> Status {
    Bootstrap boot = GYRE_TRY(Bootstrap::join(options_for({*id}, rank, kSize, 1_s)));
    if (rank == 7) {
      while (finished < kSize - 1) std::this_thread::yield();
      return {};
    }
    Status status = boot.barrier("quiet");
    ++finished;
    return status;
  });
  for (int rank = 0; rank < kSize - 1; ++rank) {
    const Status& end = ends[static_cast<std::size_t>(rank)];
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, Code::timeout);
    EXPECT_EQ(text_of(end), "time-out at step 'quiet': rank 6 waits for rank 7");
  }
}

TEST(Bootstrap, an_abort_ends_one_rank_and_tells_the_rest) {
  constexpr int kSize = 4;
  const auto id = start_job();
  std::atomic<bool> abort{false};
  std::atomic<int> finished{0};
  const auto ends = as_ranks(kSize, [&](int rank) -> Status {
    JoinOptions options = options_for({*id}, rank, kSize, 0);
    if (rank == 2) options.abort = &abort;
    Bootstrap boot = GYRE_TRY(Bootstrap::join(options));
    if (rank == 3) {  // never takes part: only the abort ends the others' wait
      while (finished < kSize - 1) std::this_thread::yield();
      return {};
    }
    if (rank == 2) abort = true;
    Status status = boot.barrier("held");
    ++finished;
    return status;
  });
  EXPECT_EQ(ends[2].error().code, Code::aborted);
  for (const int rank : {0, 1})
    EXPECT_EQ(text_of(ends[static_cast<std::size_t>(rank)]),
              "rank 2 failed at step 'held': aborted");
}

TEST(Bootstrap, early_leavers_do_not_disturb_those_still_at_work) {
  for (int round = 0; round < 20; ++round) {
    const auto id = start_job();
    for (const Status& end : as_ranks(9, [&](int rank) -> Status {
           Bootstrap boot = GYRE_TRY(Bootstrap::join(options_for({*id}, rank, 9)));
           return boot.barrier("only");  // and at once away
         }))
      ASSERT_TRUE(end) << text_of(end);
  }
}

TEST(Bootstrap, wrong_arguments_are_refused) {
  const auto id = start_job();
  EXPECT_EQ(Bootstrap::join(options_for({*id}, 2, 2)).error().code, Code::invalid_argument);
  EXPECT_EQ(Bootstrap::join(options_for({*id}, -1, 2)).error().code, Code::invalid_argument);
  EXPECT_EQ(Bootstrap::join(options_for({}, 0, 1)).error().code, Code::invalid_argument);
  EXPECT_EQ(Bootstrap::join(options_for({*id, *id}, 0, 1)).error().code, Code::invalid_argument);
}

TEST(Bootstrap, leaves_no_descriptor_behind) {
  const auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto job = [] {
    const auto root =
        Root::start({.secret = random_secret(), .addresses = {Address::v4({127, 0, 0, 1}, 0)}});
    for (const Status& end : as_ranks(5, [&](int rank) -> Status {
           Bootstrap boot = GYRE_TRY(Bootstrap::join(options_for({(*root)->id()}, rank, 5)));
           return boot.barrier("once");
         }))
      ASSERT_TRUE(end) << text_of(end);
  };
  job();
  const auto before = count();
  for (int i = 0; i < 5; ++i) job();
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace gyre
