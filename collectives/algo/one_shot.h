// One shot: everyone sends all it has to everyone who needs it, one step. For the smallest
// messages. Knows that reductions run in rank order, so their bits depend on the values alone.
#pragma once

#include "collectives/emit.h"

namespace gyre::algo {

inline void one_shot_all_reduce(const Shape& shape, Program& program) {
  Emitter e(shape, program, {});
  e.lane();
  e.move(0, {in()}, of_others(e, [&](int peer) { return e.to(peer); }));
  e.move(0, in_rank_order(e, in(), [&](int peer) { return e.from(peer); }), {out()}, kFinal);
}

inline void one_shot_reduce(const Shape& shape, Program& program) {
  Emitter e(shape, program, {});
  e.lane();
  if (shape.rank == shape.root)
    e.move(0, in_rank_order(e, in(), [&](int peer) { return e.from(peer); }), {out()}, kFinal);
  else
    e.move(0, {in()}, {e.to(shape.root)});
}

inline void one_shot_broadcast(const Shape& shape, Program& program) {
  Emitter e(shape, program, {});
  e.lane();
  if (shape.rank == shape.root)
    e.move(0, {in()}, Operands{out()} + of_others(e, [&](int peer) { return e.to(peer); }));
  else
    e.move(0, {e.from(shape.root)}, {out()});
}

inline void one_shot_all_gather(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n});
  e.lane();
  e.move(me, {in()}, Operands{out()} + of_others(e, [&](int peer) { return e.to(peer); }));
  for (int k = 1; k < n; ++k) e.move(me - k, {e.from(me - k)}, {out()});
}

}  // namespace gyre::algo
