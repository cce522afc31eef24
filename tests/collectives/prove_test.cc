// Every catalog entry on every number of ranks up to 64 keeps the laws, in every shape of root.
#include "collectives/prove.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "shapes.h"

namespace gyre {
namespace {

class Catalog : public testing::TestWithParam<Entry> {};

void prove_roots(const Entry& entry, const Layout& layout, int& least) {
  const int n = layout.size;
  std::set<int> roots{0};
  if (has_root(entry.collective)) roots = {0, 1 % n, n / 2, n - 1};
  for (const int root : roots) {
    const Shape shape{entry.collective, entry.algorithm, 0, root, &layout};
    if (!entry.valid(shape)) continue;
    const auto programs = build_all(shape);
    ASSERT_TRUE(programs) << programs.error().text;
    const Verdict verdict = prove_all_cases(*programs, contract_of(shape), entry.slots_min);
    ASSERT_TRUE(verdict.proved()) << name_of(entry) << " root " << root << ": " << verdict.fault;
    // The other algorithms may happen to be in order too, as a ring of two is.
    EXPECT_TRUE(verdict.rank_order || !entry.rank_order) << name_of(entry) << " of " << n;
    least = std::max(least, least_slots(*programs));
  }
}

TEST_P(Catalog, keeps_the_laws_on_1_to_64_ranks) {
  const Entry& entry = GetParam();
  if (is_point_to_point(entry.collective)) {
    const Layout pair = single_host_layout(2);
    for (const int sender : {0, 1}) {
      const Shape shape{Collective::send, Algorithm::pairwise, sender, 1 - sender, &pair};
      const Verdict verdict = prove_all_cases(*build_all(shape), contract_of(shape), 1);
      EXPECT_TRUE(verdict.proved()) << verdict.fault;
    }
    return;
  }
  int least = 1;
  for (int n = 1; n <= 64; ++n) {
    prove_roots(entry, single_host_layout(n), least);
    for (const int hosts : {2, 3, 5, 8})
      if (n >= hosts && entry.algorithm == Algorithm::hierarchical)
        prove_roots(entry, uneven_hosts(n, hosts), least);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(least, entry.slots_min);
}

INSTANTIATE_TEST_SUITE_P(All, Catalog, testing::ValuesIn(catalog().begin(), catalog().end()),
                         [](const auto& one) { return name_of(one.param); });

}  // namespace
}  // namespace gyre
