// Every algorithm on real numbers: random sizes, chunks, slots, roots and orders of turns, against
// the definition of the collective.
#include <gtest/gtest.h>

#include <random>

#include "collectives/prove.h"
#include "interpreter.h"
#include "shapes.h"

namespace gyre {
namespace {

class Numbers : public testing::TestWithParam<Entry> {};

TEST_P(Numbers, are_right_whatever_the_order_of_turns) {
  const Entry& entry = GetParam();
  std::mt19937_64 random(20261201);
  const auto below = [&](std::uint64_t limit) { return static_cast<int>(random() % limit); };
  for (int run = 0; run < 60; ++run) {
    const int n = is_point_to_point(entry.collective) ? 2 : 1 + below(13);
    const Layout layout = layout_for(entry, n, 2 + below(3));
    Shape shape{entry.collective, entry.algorithm, 0,
                has_root(entry.collective) ? below(static_cast<unsigned>(n)) : 0, &layout};
    if (is_point_to_point(entry.collective)) {
      shape.collective = Collective::send;
      shape.root = 1;
    }
    if (!entry.valid(shape)) continue;
    const auto programs = build_all(shape);
    const Contract contract = contract_of(shape);
    const Execution how{.slots = entry.slots_min + below(3),
                        .count = static_cast<std::uint64_t>(below(200)),
                        .chunk = 1u + static_cast<std::uint64_t>(below(40)),
                        .in_place = contract.allows_in_place() && below(2) == 1,
                        .seed = random()};
    ASSERT_EQ(interpret(*programs, contract, how), "")
        << n << " ranks, root " << shape.root << ", count " << how.count << ", chunk " << how.chunk
        << ", slots " << how.slots << (how.in_place ? ", in place" : "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, Numbers, testing::ValuesIn(catalog().begin(), catalog().end()),
                         [](const auto& one) { return name_of(one.param); });

}  // namespace
}  // namespace gyre
