// The error bounds that docs/plan.md promises, held against the prover's count on real plans.
#include <gtest/gtest.h>

#include <bit>

#include "collectives/prove.h"
#include "shapes.h"

namespace gyre {
namespace {

int log2_down(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n))) - 1; }
int log2_up(int n) { return n == 1 ? 0 : log2_down(n - 1) + 1; }

Verdict proved(const Entry& entry, const Layout& layout) {
  const Shape shape{entry.collective, entry.algorithm, 0, 0, &layout};
  return prove(*build_all(shape), contract_of(shape), {.slots = entry.slots_min, .loops = 1});
}

struct Promise {
  int roundings, additions;
};

Promise promised(const Entry& entry, const Layout& layout) {
  const int n = layout.size;
  if (entry.rank_order) return {1, n - 1};
  const int folding = std::has_single_bit(static_cast<unsigned>(n)) ? 0 : 1;
  switch (entry.algorithm) {
    case Algorithm::ring:
      return {n - 1, n - 1};
    case Algorithm::tree:
      return {log2_down(n) + 1, 2 * log2_down(n) + 1};
    case Algorithm::doubling:
    case Algorithm::halving:
      return {log2_down(n) + folding, log2_down(n) + folding};
    case Algorithm::circulant:
    case Algorithm::binomial:
      return {log2_up(n), log2_up(n)};
    default: {
      std::size_t largest = 0;
      for (const auto& host : layout.hosts) largest = std::max(largest, host.size());
      const int rounds = log2_up(static_cast<int>(layout.hosts.size()));
      return {rounds + 1, rounds + static_cast<int>(largest) - 1};
    }
  }
}

TEST(Roundings, are_within_what_is_documented) {
  for (const Entry& entry : catalog()) {
    if (!reduces(entry.collective)) continue;
    for (int n = 2; n <= 64; ++n) {
      const Layout layout = layout_for(entry, n, 4);
      if (!entry.valid({entry.collective, entry.algorithm, 0, 0, &layout})) continue;
      const Verdict verdict = proved(entry, layout);
      const Promise promise = promised(entry, layout);
      EXPECT_LE(verdict.roundings, promise.roundings) << name_of(entry) << " of " << n;
      EXPECT_LE(verdict.additions, promise.additions) << name_of(entry) << " of " << n;
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace gyre
