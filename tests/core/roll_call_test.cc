#include "core/roll_call.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

Join join_of(int rank, int size, int blocks = 1, int block = 0) {
  Join out;
  out.rank = rank;
  out.size = size;
  out.blocks = blocks;
  out.block = block;
  out.protocol = 1;
  out.patience_ns = kNever;
  out.card.pid = 100 + rank;
  std::string("host").copy(out.card.hostname.data(), 8);
  return out;
}

std::string verdict_of(const RollCall& roll) {
  return roll.verdict() ? roll.verdict()->text : "none";
}

TEST(RollCall, is_complete_when_all_have_come) {
  RollCall roll;
  for (int rank : {2, 0, 1}) {
    EXPECT_FALSE(roll.complete());
    roll.add(join_of(rank, 3), 1);
  }
  EXPECT_TRUE(roll.complete());
  EXPECT_EQ(roll.answer_for(2).parent_rank, 0);
  EXPECT_EQ(roll.answer_for(2).parent.pid, 100);
  EXPECT_EQ(roll.answer_for(0).parent_rank, -1);
  for (int rank : {0, 1, 2}) {
    EXPECT_FALSE(roll.all_ready());
    roll.ready(rank);
  }
  EXPECT_TRUE(roll.all_ready());
}

TEST(RollCall, contradictions_name_both_sides) {
  const auto verdict = [](const Join& first, const Join& second, std::uint32_t protocol = 1) {
    RollCall roll;
    roll.add(first, 1);
    roll.add(second, protocol);
    EXPECT_TRUE(roll.verdict());
    EXPECT_EQ(roll.verdict()->code, Code::invalid_usage);
    return verdict_of(roll);
  };
  EXPECT_EQ(verdict(join_of(1, 3), join_of(1, 3)),
            "two processes say they are rank 1: host host pid 101 and host host pid 101");
  EXPECT_EQ(
      verdict(join_of(1, 3), join_of(2, 4)),
      "ranks disagree on the job's size: rank 1 (host host pid 101) says 3, rank 2 (host host pid "
      "102) says 4");
  EXPECT_EQ(
      verdict(join_of(1, 3), join_of(2, 3), 2),
      "ranks run different versions of gyre: rank 1 (host host pid 101) speaks protocol 1, rank 2 "
      "(host host pid 102) protocol 2");
  EXPECT_NE(verdict(join_of(0, 4, 2, 0), join_of(1, 4, 1, 0)).find("different lists of ids"),
            std::string::npos);
  EXPECT_NE(verdict(join_of(0, 4, 2, 0), join_of(3, 4, 2, 0)).find("not its own"),
            std::string::npos);
}

TEST(RollCall, impossible_joins_are_refused) {
  for (const Join& join : {join_of(3, 3), join_of(-1, 3), join_of(0, 0), join_of(0, 3, 4),
                           join_of(0, 3, 1, 1), join_of(0, -5), join_of(0, 3, 0)}) {
    RollCall roll;
    roll.add(join, 1);
    EXPECT_TRUE(roll.verdict());
    EXPECT_FALSE(roll.complete());
  }
}

TEST(RollCall, lost_patience_names_who_is_missing) {
  RollCall roll;
  for (int rank : {0, 1, 2, 4, 5, 6, 9}) {
    Join join = join_of(rank, 12);
    join.patience_ns = rank == 4 ? 10_s : 500_s;
    roll.add(join, 1);
  }
  roll.check_patience(now_ns());
  EXPECT_FALSE(roll.verdict());
  EXPECT_LE(roll.deadline(), now_ns() + 10_s);
  roll.check_patience(now_ns() + 11_s);
  EXPECT_EQ(verdict_of(roll),
            "after 10 s only 7 of 12 ranks have come; missing: rank 3, 7-8, 10-11");
  EXPECT_EQ(roll.verdict()->code, Code::timeout);
}

TEST(RollCall, a_rank_that_fails_is_named_with_its_reason) {
  RollCall roll;
  roll.add(join_of(0, 2), 1);
  roll.add(join_of(1, 2), 1);
  roll.left(1, "out of memory");
  roll.left(0, "");
  EXPECT_EQ(verdict_of(roll),
            "rank 1 (host host pid 101) failed while the ranks met: out of memory");
  EXPECT_EQ(roll.verdict()->rank, 1);
}

}  // namespace
}  // namespace gyre
