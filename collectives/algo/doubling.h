// Doubling: distances 1, 2, 4, ...; any n by folding. Fewest steps where the whole message is
// small.
#pragma once

#include "collectives/algo/pairs.h"
#include "collectives/algo/rounds.h"

namespace gyre::algo {

// Partners swap all they have. Both add the lower group's part first, so both get the same bits.
inline void doubling_all_reduce(const Shape& shape, Program& program) {
  const Pairs pairs(shape.size());
  const int group = pairs.group_of(shape.rank), main = pairs.main_of(group);
  Emitter e(shape, program, {});
  e.lane();
  if (pairs.is_helper(shape.rank)) {
    e.move(0, {in()}, {e.to(main)});
    e.move(0, {e.from(main)}, {out()});
    return;
  }
  const auto partner = [&](int distance) { return pairs.main_of(group ^ distance); };
  Operand sum = in();
  if (pairs.has_helper(group)) {
    e.move(0, {in(), e.from(main + 1)}, {out(), e.to(partner(1))});
    sum = out();
  } else {
    e.move(0, {in()}, {e.to(partner(1))});
  }
  for (int distance = 1; distance < pairs.groups; distance *= 2) {
    const Operand theirs = e.from(partner(distance));
    const bool lower = (group & distance) == 0;
    const bool last = distance * 2 == pairs.groups;
    Operands targets{out()};
    if (!last) targets.push_back(e.to(partner(distance * 2)));
    if (last && pairs.has_helper(group)) targets.push_back(e.to(main + 1));
    e.move(0, lower ? Operands{sum, theirs} : Operands{theirs, sum}, targets,
           last ? kFinal : std::uint16_t{0});
    sum = out();
  }
}

// The spread with xor for partners, first of all main ranks' blocks, then of the helpers' blocks.
inline void doubling_all_gather(const Shape& shape, Program& program) {
  const int me = shape.rank;
  const Pairs pairs(shape.size());
  const Rounds rounds(pairs.groups);
  const int group = pairs.group_of(me), main = pairs.main_of(group);
  Emitter e(shape, program, {.blocks = shape.size()});
  e.lane();
  if (pairs.is_helper(me)) {
    e.move(me, {in()}, {out(), e.to(main)});
    for (int i = 0; i < Pairs::kMembers; ++i)
      for (auto x = rounds.order().rbegin(); x != rounds.order().rend(); ++x) {
        const int block = pairs.member(group ^ *x, i);
        if (block >= 0 && block != me) e.move(block, {e.from(main)}, {out()});
      }
    return;
  }
  const auto partner = [&](int k) { return pairs.main_of(group ^ rounds.skip(k)); };
  for (int i = 0; i < Pairs::kMembers; ++i)
    spread(e, rounds, partner, partner,
           [&](int x, const Operands& arriving, const Operands& leaving) {
             const int block = pairs.member(group ^ x, i);
             if (block < 0) return;
             Operands targets = Operands{out()} + leaving;
             if (pairs.has_helper(group) && block != main + 1) targets.push_back(e.to(main + 1));
             if (x > 0)
               e.move(block, arriving, targets);
             else
               e.move(block, {block == me ? in() : e.from(block)}, targets);
           });
}

// Dissemination: after round k a rank has heard, through others, from the 2^(k+1) - 1 ranks below.
// In the prologue, which runs once and even when there is no data.
inline void doubling_barrier(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {});
  e.lane();
  e.prologue();
  for (int distance = 1; distance < n; distance *= 2) {
    e.post({e.token_to(me + distance)});
    e.wait({e.token_from(me - distance)});
  }
}

}  // namespace gyre::algo
