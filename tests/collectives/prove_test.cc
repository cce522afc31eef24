// Every catalog entry on every number of ranks up to 64 keeps the laws, in every shape of root.
#include "collectives/prove.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "collectives/rotate.h"
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

// Where all ranks do the same, one rank's run proves any number of ranks.
TEST(Rotation, proves_thousands_of_ranks_from_one) {
  for (const Collective c :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter})
    for (const Algorithm a : {Algorithm::ring, Algorithm::circulant})
      for (const int n : {2, 3, 64, 1000, 1023, 4099}) {
        const Layout layout = single_host_layout(n);
        const Entry& entry = *find_entry(c, a);
        Shape shape{c, a, 0, 0, &layout};
        const Program zero = *build_program(shape);
        for (const int by : {1, n / 2, n - 1}) {
          shape.rank = by;
          EXPECT_TRUE(is_rotation(zero, *build_program(shape), by, n)) << n << " by " << by;
        }
        const Verdict verdict = prove_rotating(zero, contract_of(shape), entry.slots_min, 2);
        EXPECT_TRUE(verdict.proved()) << name_of(entry) << " of " << n << ": " << verdict.fault;
        // A fused ring holds its one slot full and waits for the next one's to be free.
        const bool one_slot_will_do = prove_rotating(zero, contract_of(shape), 1, 2).proved();
        EXPECT_TRUE(a != Algorithm::ring ||
                    one_slot_will_do == (n == 2 && c != Collective::all_reduce));
      }
}

// Where they do not, all of them are run: at depth log n that is cheap.
TEST(ManyRanks, logarithmic_plans_keep_the_laws) {
  for (const auto& [c, a] : {std::pair{Collective::all_reduce, Algorithm::tree},
                             {Collective::all_reduce, Algorithm::doubling},
                             {Collective::broadcast, Algorithm::binomial},
                             {Collective::reduce, Algorithm::tree}}) {
    const Layout layout = single_host_layout(1000);
    const Shape shape{c, a, 0, has_root(c) ? 333 : 0, &layout};
    const Verdict verdict = prove(*build_all(shape), contract_of(shape), {.slots = 1, .loops = 2});
    EXPECT_TRUE(verdict.proved()) << to_text(a) << ": " << verdict.fault;
  }
}

TEST(ManyRanks, direct_plans_end_where_a_byte_counts_no_further) {
  const Layout layout = single_host_layout(kDirectRanksMax);
  const Shape shape{Collective::all_reduce, Algorithm::two_shot, 0, 0, &layout};
  const Verdict verdict = prove(*build_all(shape), contract_of(shape), {.slots = 2, .loops = 1});
  EXPECT_TRUE(verdict.proved()) << verdict.fault;
}

}  // namespace
}  // namespace gyre
