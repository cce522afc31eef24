// Push through windows: who has made a block writes it to everyone who needs it; no staging.
// Knows that premultiplied inputs cannot be read by peers: reductions here read them raw.
#pragma once

#include "collectives/algo/visits.h"

namespace gyre::algo {

inline Operands every_output(const Emitter& e) {
  return Operands{out()} + of_others(e, [&](int peer) { return e.peer_out(peer); });
}

// Block `me` is read and written by this rank alone, on all ranks, so in place needs no extra step.
inline void push_all_reduce(const Shape& shape, Program& program) {
  Emitter e(shape, program, {.blocks = shape.size()});
  visit(e, everyone_visits_everyone(e),
        [&] { e.move(shape.rank, every_input(e), every_output(e), kFinal); });
}

inline void push_reduce_scatter(const Shape& shape, Program& program) {
  Emitter e(shape, program, {.blocks = shape.size()});
  visit(e, everyone_visits_everyone(e),
        [&] { e.move(shape.rank, every_input(e), {out()}, kFinal); });
}

// Every rank makes one block of the root's result.
inline void push_reduce(const Shape& shape, Program& program) {
  const int me = shape.rank, root = shape.root;
  Emitter e(shape, program, {.blocks = shape.size()});
  visit(e, everyone_visits_everyone(e),
        [&] { e.move(me, every_input(e), {me == root ? out() : e.peer_out(root)}, kFinal); });
}

// Every rank carries one block from the root to everyone; the root's own copy is the root's
// business.
inline void push_broadcast(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank, root = shape.root;
  Emitter e(shape, program, {.blocks = n});
  visit(e, everyone_visits_everyone(e), [&] {
    if (me == root) {
      e.move(me, {in()}, every_output(e));
      for (int k = 1; k < n; ++k) e.move(me + k, {in()}, {out()});
      return;
    }
    Operands targets{out()};
    for (const int peer : all_others(e))
      if (peer != root) targets.push_back(e.peer_out(peer));
    e.move(me, {e.peer_in(root)}, targets);
  });
}

inline void push_all_gather(const Shape& shape, Program& program) {
  Emitter e(shape, program, {.blocks = shape.size()});
  visit(e, everyone_visits_everyone(e), [&] { e.move(shape.rank, {in()}, every_output(e)); });
}

inline void push_all_to_all(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n});
  visit(e, everyone_visits_everyone(e), [&] {
    e.move(me, {in()}, {out()});
    for (int k = 1; k < n; ++k) e.move(me + k, {in()}, {e.peer_out(me + k, me)});
  });
}

inline void push_gather(const Shape& shape, Program& program) {
  const int me = shape.rank, root = shape.root;
  Emitter e(shape, program, {.blocks = shape.size()});
  visit(e, all_visit(e, root),
        [&] { e.move(me, {in()}, {me == root ? out() : e.peer_out(root)}); });
}

inline void push_scatter(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank, root = shape.root;
  Emitter e(shape, program, {.blocks = n});
  visit(e, visits_all(e, root), [&] {
    if (me != root) return;
    e.move(me, {in()}, {out()});
    for (int k = 1; k < n; ++k) e.move(me + k, {in()}, {e.peer_out(me + k)});
  });
}

}  // namespace gyre::algo
