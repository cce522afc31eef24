// Halving: the rounds with xor for partners (Rabenseifner), any n by folding. A helper's part is
// one more source of every move of its main rank, and its result one more target, so folding costs
// no pass of its own.
#pragma once

#include "collectives/algo/pairs.h"
#include "collectives/algo/rounds.h"

namespace gyre::algo {

inline void halving_all_reduce(const Shape& shape, Program& program) {
  const Pairs pairs(shape.size());
  const Rounds rounds(pairs.groups);
  const int group = pairs.group_of(shape.rank), main = pairs.main_of(group);
  Emitter e(shape, program, {.blocks = pairs.groups});
  e.lane();
  if (pairs.is_helper(shape.rank)) {
    for (const int x : rounds.order()) e.move(group ^ x, {in()}, {e.to(main)});
    for (auto x = rounds.order().rbegin(); x != rounds.order().rend(); ++x)
      e.move(group ^ *x, {e.from(main)}, {out()});
    return;
  }
  Operands parts{in()}, results{out()}, last;
  if (pairs.has_helper(group)) {
    parts.push_back(e.from(main + 1));
    results.push_back(e.to(main + 1));
  }
  const auto partner = [&](int k) { return pairs.main_of(group ^ rounds.skip(k)); };
  fold(e, rounds, partner, partner, [&](int x, const Operands& arriving, const Operands& leaving) {
    if (x > 0)
      e.move(group ^ x, parts + arriving, leaving);
    else
      last = arriving;  // offset 0 is whole here: its move opens the spread
  });
  spread(e, rounds, partner, partner,
         [&](int x, const Operands& arriving, const Operands& leaving) {
           if (x > 0)
             e.move(group ^ x, arriving, results + leaving);
           else
             e.move(group, parts + last, results + leaving, kFinal);
         });
}

// A group of two has two blocks; the main rank makes both and hands one over. First all groups'
// first blocks, then the second ones, so that each pass is a fold of its own and needs no more
// slots.
inline void halving_reduce_scatter(const Shape& shape, Program& program) {
  const int me = shape.rank;
  const Pairs pairs(shape.size());
  const Rounds rounds(pairs.groups);
  const int group = pairs.group_of(me), main = pairs.main_of(group);
  Emitter e(shape, program, {.blocks = shape.size()});
  e.lane();
  if (pairs.is_helper(me)) {
    for (int i = 0; i < Pairs::kMembers; ++i)
      for (const int x : rounds.order())
        if (const int block = pairs.member(group ^ x, i); block >= 0)
          e.move(block, {in()}, {e.to(main)});
    e.move(me, {e.from(main)}, {out()});
    return;
  }
  Operands parts{in()};
  if (pairs.has_helper(group)) parts.push_back(e.from(main + 1));
  const auto partner = [&](int k) { return pairs.main_of(group ^ rounds.skip(k)); };
  for (int i = 0; i < Pairs::kMembers; ++i)
    fold(e, rounds, partner, partner,
         [&](int x, const Operands& arriving, const Operands& leaving) {
           const int block = pairs.member(group ^ x, i);
           if (block < 0) return;
           if (x > 0)
             e.move(block, parts + arriving, leaving);
           else
             e.move(block, parts + arriving, {block == me ? out() : e.to(block)}, kFinal);
         });
}

}  // namespace gyre::algo
