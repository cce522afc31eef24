// Rings: each rank hears from the rank below and tells the rank above. Least bytes, most steps.
// Knows the order of blocks on a ring. Does not know which ranks are near: rank order is ring
// order.
#pragma once

#include "collectives/emit.h"

namespace gyre::algo {

// Block b starts at rank b+1, gathers every rank's part on its way round and is whole at rank b.
inline void ring_reduce_scatter(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n});
  const Operand from = e.from(me - 1), to = e.to(me + 1);
  e.lane();
  e.move(me - 1, {in()}, {to});
  for (int j = 2; j < n; ++j) e.move(me - j, {from, in()}, {to});
  e.move(me, {from, in()}, {out()}, kFinal);
}

inline void ring_all_gather(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n});
  const Operand from = e.from(me - 1), to = e.to(me + 1);
  e.lane();
  e.move(me, {in()}, {out(), to});
  for (int j = 1; j < n - 1; ++j) e.move(me - j, {from}, {out(), to});
  e.move(me + 1, {from}, {out()});
}

// The two above, joined where a block is whole.
inline void ring_all_reduce(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n});
  const Operand from = e.from(me - 1), to = e.to(me + 1);
  e.lane();
  e.move(me - 1, {in()}, {to});
  for (int j = 2; j < n; ++j) e.move(me - j, {from, in()}, {to});
  e.move(me, {from, in()}, {out(), to}, kFinal);
  for (int j = 1; j < n - 1; ++j) e.move(me - j, {from}, {out(), to});
  e.move(me + 1, {from}, {out()});
}

// A chain from the root upwards, pipelined by loops.
inline void ring_broadcast(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {});
  const int place = e.wrap(me - shape.root);
  e.lane();
  Operands source{in()}, targets{out()};
  if (place > 0) source = {e.from(me - 1)};
  if (place < n - 1) targets.push_back(e.to(me + 1));
  e.move(0, source, targets);
}

// A chain that ends at the root.
inline void ring_reduce(const Shape& shape, Program& program) {
  const int me = shape.rank;
  Emitter e(shape, program, {});
  const int place = e.wrap(me - shape.root);
  e.lane();
  if (place == 1)
    e.move(0, {in()}, {e.to(me + 1)});
  else if (place > 1)
    e.move(0, {e.from(me - 1), in()}, {e.to(me + 1)});
  else
    e.move(0, {e.from(me - 1), in()}, {out()}, kFinal);
}

}  // namespace gyre::algo
