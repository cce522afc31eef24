// The schedule of logarithmic reductions and gathers on any number of places. Knows offsets alone.
//
// Round k folds the offsets [skip(k), width(k)) onto [0, width(k) - skip(k)), where width(0) = n,
// skip(k) = ceil(width(k) / 2) = width(k + 1), until offset 0 alone is left: ceil(log2 n) rounds,
// each offset but 0 leaves once, so n - 1 blocks travel in all (Traeff, arXiv 2410.14234; with n a
// power of two and xor for plus it is recursive halving). Read backwards it spreads offset 0 to
// everyone.
//
// All that arrives on an offset is combined in the one move in which it leaves. order() makes that
// work with few slots: what a neighbour will fold is sent just before the own fold that the
// neighbour's twin feeds, so that no round runs ahead of the next.
#pragma once

#include <vector>

#include "collectives/emit.h"

namespace gyre::algo {

class Rounds {
 public:
  explicit Rounds(int n) : widths_{n} {
    while (widths_.back() > 1) widths_.push_back((widths_.back() + 1) / 2);
    order_ = {0};
    for (int k = count() - 1; k >= 0; --k) order_ = interleaved(k);
  }
  int count() const { return static_cast<int>(widths_.size()) - 1; }
  int skip(int k) const { return widths_[static_cast<std::size_t>(k) + 1]; }
  const std::vector<int>& order() const { return order_; }
  // The round in which offset x leaves; offset 0 stays: count().
  int leaving(int x) const {
    int k = 0;
    while (k < count() && x < skip(k)) ++k;
    return k;
  }
  // The rounds that bring something onto offset x before it leaves.
  std::vector<int> arriving(int x) const {
    std::vector<int> rounds;
    for (int k = 0; k < leaving(x); ++k)
      if (x < folded(k)) rounds.push_back(k);
    return rounds;
  }

 private:
  int folded(int k) const { return widths_[static_cast<std::size_t>(k)] - skip(k); }
  std::vector<int> interleaved(int k) const {
    std::vector<int> wider;
    for (const int x : order_) {
      if (x < folded(k)) wider.push_back(skip(k) + x);
      wider.push_back(x);
    }
    return wider;
  }

  std::vector<int> widths_, order_;
};

// Lays down a fold: in round k this rank sends to above(k) and hears from below(k).
// each(x, arriving, leaving) emits the moves of offset x; leaving is empty for offset 0, which is
// last.
template <class Rank, class Each>
void fold(Emitter& e, const Rounds& rounds, Rank below, Rank above, Each each) {
  for (const int x : rounds.order()) {
    Operands arriving, leaving;
    for (const int k : rounds.arriving(x)) arriving.push_back(e.from(below(k)));
    if (x > 0) leaving.push_back(e.to(above(rounds.leaving(x))));
    each(x, arriving, leaving);
  }
}

// The fold backwards: arriving is empty for offset 0, which is first.
template <class Rank, class Each>
void spread(Emitter& e, const Rounds& rounds, Rank below, Rank above, Each each) {
  for (auto x = rounds.order().rbegin(); x != rounds.order().rend(); ++x) {
    Operands arriving, leaving;
    if (*x > 0) arriving.push_back(e.from(above(rounds.leaving(*x))));
    for (const int k : rounds.arriving(*x)) leaving.push_back(e.to(below(k)));
    each(*x, arriving, leaving);
  }
}

}  // namespace gyre::algo
