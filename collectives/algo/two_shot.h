// Two shots: every block goes to its owner, who reduces all ranks' parts in one move in rank order
// (shot one) and, for all_reduce, sends the whole to everyone (shot two). Giving, reducing and
// taking are lanes of their own, so that a chunk on its way never holds up the next one.
#pragma once

#include "collectives/emit.h"

namespace gyre::algo {
namespace two_shot {

inline constexpr int kParts = 0, kWhole = 1;  // edge indices: shot one, shot two

// Shot one: my block reduced into out and `more`.
inline void scatter_and_reduce(Emitter& e, const Operands& more) {
  const int n = e.size(), me = e.rank();
  e.lane();
  for (int k = 1; k < n; ++k) e.move(me + k, {in()}, {e.to(me + k, kParts)});
  e.lane();
  e.move(me, in_rank_order(e, in(), [&](int peer) { return e.from(peer, kParts); }),
         Operands{out()} + more, kFinal);
}

}  // namespace two_shot

inline void two_shot_reduce_scatter(const Shape& shape, Program& program) {
  Emitter e(shape, program, {.blocks = shape.size()});
  two_shot::scatter_and_reduce(e, {});
}

inline void two_shot_all_reduce(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n});
  two_shot::scatter_and_reduce(
      e, of_others(e, [&](int peer) { return e.to(peer, two_shot::kWhole); }));
  e.lane();
  for (int k = 1; k < n; ++k) e.move(me - k, {e.from(me - k, two_shot::kWhole)}, {out()});
}

}  // namespace gyre::algo
