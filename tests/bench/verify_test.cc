#include "bench/verify.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "bench/meeting.h"

namespace perf {
namespace {

Collective gather_to_root() {
  return {.name = "gather",
          .received = Blocks::per_rank,
          .in_place = InPlace::send_in_recv,
          .divides = true,
          .rooted = true,
          .segments = [](const Shape& s) {
            return s.rank == s.root ? block_from_each(s) : std::vector<Segment>{};
          }};
}

// A rank's two buffers and what a right gather of two ranks leaves in them.
class VerifierTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 50;
  VerifierTest() : collective_(gather_to_root()), type_(*find_type("int32")) {}

  void open(int rank, std::size_t misalign = 0) {
    const Shape shape{2, rank, 0, kCount};
    verifier_ = std::make_unique<Verifier>(collective_, shape, type_, Op::sum, 3);
    ASSERT_FALSE(send_.open({kCount * 4, 2, misalign, Memory::plain}, nullptr));
    ASSERT_FALSE(recv_.open({2 * kCount * 4, 2, misalign, Memory::plain}, nullptr));
    verifier_->prepare(send_, recv_, 1, false);
  }
  void gather() {
    const Oracle oracle(type_, Op::sum, 2, 3);
    for (int r = 0; r < 2; ++r)
      oracle.fill_cargo(recv_.slot(1) + static_cast<std::size_t>(r) * kCount * 4, 0, kCount, r);
  }
  std::int64_t wrong() const { return verifier_->count_wrong(recv_, 1, false); }

  Collective collective_;
  TypeInfo type_;
  Buffer send_, recv_;
  std::unique_ptr<Verifier> verifier_;
};

TEST_F(VerifierTest, right_result_has_no_wrong_element) {
  open(0, 3);
  gather();
  EXPECT_EQ(wrong(), 0);
}

TEST_F(VerifierTest, nothing_received_is_all_wrong) {
  open(0);
  EXPECT_EQ(wrong(), 2 * static_cast<std::int64_t>(kCount));
}

TEST_F(VerifierTest, one_byte_past_either_end_is_seen) {
  open(0);
  gather();
  recv_.slot(1)[2 * kCount * 4] = std::byte{0};
  EXPECT_EQ(wrong(), 1);
  recv_.slot(1)[-1] = std::byte{0};
  EXPECT_EQ(wrong(), 2);
}

TEST_F(VerifierTest, a_rank_without_result_must_not_be_written_to) {
  open(1);
  EXPECT_EQ(wrong(), 0);
  recv_.slot(1)[7] = std::byte{0};
  EXPECT_EQ(wrong(), 1);
}

TEST_F(VerifierTest, slots_are_apart) {
  open(0);
  gather();
  verifier_->prepare(send_, recv_, 0, false);
  EXPECT_EQ(wrong(), 0);
}

TEST(BenchCollective, small_sizes_move_at_least_one_element_per_rank) {
  const Collective gather = gather_to_root();
  EXPECT_EQ(gather.count_of(8, 4, 4), 1u);
  EXPECT_EQ(gather.size_of(1, 4, 4), 16u);
  EXPECT_EQ(gather.count_of(64, 4, 4), 4u);
  EXPECT_EQ(gather.count_of(0, 4, 4), 0u);
}

TEST(BenchMeeting, notes_of_all_reach_all) {
  constexpr int kRanks = 4;
  const std::unique_ptr<Page> page = Page::create(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      PageMeeting meeting(*page, rank);
      for (int turn = 0; turn < 200; ++turn) {
        const int note = rank * 1000 + turn;
        int all[kRanks];
        ASSERT_FALSE(meeting.gather(&note, sizeof(note), all));
        for (int r = 0; r < kRanks; ++r) ASSERT_EQ(all[r], r * 1000 + turn);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(BenchMeeting, failure_of_one_frees_those_who_wait) {
  const std::unique_ptr<Page> page = Page::create(2);
  Problem problem;
  std::thread waiter([&] { problem = PageMeeting(*page, 0).barrier(); });
  page->fail(1, "broke");
  waiter.join();
  EXPECT_EQ(problem, kLeft);
  EXPECT_EQ(page->seat(1).state.load(), SeatState::failed);
  EXPECT_STREQ(page->seat(1).error, "broke");
  EXPECT_EQ(page->seat(0).state.load(), SeatState::running);
}

}  // namespace
}  // namespace perf
