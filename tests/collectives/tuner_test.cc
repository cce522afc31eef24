#include "collectives/tuner.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "shapes.h"

namespace gyre {
namespace {

Algorithm chosen(Tuner& tuner, const TunerQuery& request) {
  const auto choice = tuner.choose(request);
  EXPECT_TRUE(choice) << choice.error().text;
  return choice->entry->algorithm;
}

TEST(Tuner, small_takes_few_steps_and_large_touches_few_bytes) {
  Tuner tuner(single_host_layout(8));
  EXPECT_EQ(chosen(tuner, {.bytes = 8}), Algorithm::one_shot);
  EXPECT_EQ(chosen(tuner, {.bytes = 64_MiB, .windows = true}), Algorithm::window_push);
}

TEST(Tuner, across_hosts_large_messages_leave_each_host_once) {
  const Layout layout{.size = 16,
                      .hosts = {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}};
  Tuner tuner(layout);
  const auto flat = tuner.choose({.bytes = 64_MiB, .wish = Algorithm::two_shot});
  const auto best = tuner.choose({.bytes = 64_MiB});
  ASSERT_TRUE(flat && best);
  EXPECT_LT(best->microseconds * 4, flat->microseconds);
  EXPECT_TRUE(best->entry->algorithm == Algorithm::hierarchical ||
              best->entry->algorithm == Algorithm::ring);
}

TEST(Tuner, deterministic_calls_get_rank_order_at_every_size) {
  Tuner tuner(single_host_layout(7));
  for (std::uint64_t bytes = 1; bytes <= 256_MiB; bytes *= 4) {
    const auto choice = tuner.choose({.bytes = bytes, .windows = true, .deterministic = true});
    ASSERT_TRUE(choice);
    EXPECT_TRUE(choice->entry->rank_order);
  }
  Tuner many(single_host_layout(kDirectRanksMax + 1));
  EXPECT_FALSE(many.choose({.bytes = 8, .deterministic = true}));
  EXPECT_TRUE(many.choose({.bytes = 8}));
}

TEST(Tuner, peers_do_not_read_premultiplied_inputs) {
  Tuner tuner(single_host_layout(4));
  const TunerQuery request{.bytes = 64_MiB, .windows = true, .premultiplied = true};
  EXPECT_FALSE(tuner.choose(request)->entry->needs_windows);
}

TEST(Tuner, a_wish_is_granted_or_refused_by_name) {
  Tuner tuner(single_host_layout(4));
  EXPECT_EQ(chosen(tuner, {.bytes = 8, .wish = Algorithm::ring}), Algorithm::ring);
  const auto refused = tuner.choose({.bytes = 8, .wish = Algorithm::hierarchical});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("hierarchical"), std::string::npos);
}

TEST(Tuner, every_collective_has_a_choice_on_any_number_of_ranks) {
  for (const int n : {1, 2, 3, 64, 300, 1000}) {
    Tuner tuner(single_host_layout(n));
    for (int c = 0; c < kCollectiveCount; ++c)
      EXPECT_TRUE(tuner.choose({.collective = static_cast<Collective>(c), .bytes = 1024}))
          << to_text(static_cast<Collective>(c)) << " of " << n;
  }
}

TEST(Cost, estimates_grow_with_bytes) {
  for (const Entry& entry : catalog()) {
    const Layout layout = layout_for(entry, 6);
    const Cost cost = cost_of(entry, layout);
    double last = 0;
    for (std::uint64_t bytes = 0; bytes <= 64_MiB; bytes = bytes * 8 + 8) {
      const double us = microseconds(cost, entry.collective, bytes, {});
      EXPECT_GE(us, last) << name_of(entry);
      last = us;
    }
  }
}

TEST(Cost, a_ring_touches_what_its_moves_touch) {
  const Layout layout = single_host_layout(4);
  const Cost cost = cost_of(*find_entry(Collective::all_reduce, Algorithm::ring), layout);
  EXPECT_EQ(cost.local_steps, 6);
  // (1 -> 1) + 2 (2 -> 1) + (2 -> 2) + 2 (1 -> 2) + (1 -> 1)
  EXPECT_EQ(cost.touched_blocks, 2 + 6 + 4 + 6 + 2);
  EXPECT_EQ(cost.messages, 12);
}

}  // namespace
}  // namespace gyre
