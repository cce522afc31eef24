// Pull through windows: everyone reads what he needs; nobody writes to a peer. For memory that
// peers may map read-only or reach by single-copy reads. Reductions read peers' inputs raw.
#pragma once

#include "collectives/algo/visits.h"

namespace gyre::algo {

// The second round of tokens says two things: my block is whole, and I have read all I need of your
// input, so that in place you may now overwrite it.
inline void pull_all_reduce(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n});
  visit(e, everyone_visits_everyone(e), [&] {
    e.move(me, every_input(e), {out()}, kFinal);
    swap_tokens(e, all_others(e), all_others(e));
    for (int k = 1; k < n; ++k) e.move(me + k, {e.peer_out(me + k)}, {out()});
  });
}

inline void pull_reduce_scatter(const Shape& shape, Program& program) {
  Emitter e(shape, program, {.blocks = shape.size()});
  visit(e, everyone_visits_everyone(e),
        [&] { e.move(shape.rank, every_input(e), {out()}, kFinal); });
}

inline void pull_reduce(const Shape& shape, Program& program) {
  Emitter e(shape, program, {});
  visit(e, visits_all(e, shape.root), [&] {
    if (shape.rank == shape.root) e.move(0, every_input(e), {out()}, kFinal);
  });
}

inline void pull_broadcast(const Shape& shape, Program& program) {
  const int root = shape.root;
  Emitter e(shape, program, {});
  visit(e, all_visit(e, root),
        [&] { e.move(0, {shape.rank == root ? in() : e.peer_in(root)}, {out()}); });
}

inline void pull_all_gather(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n});
  visit(e, everyone_visits_everyone(e), [&] {
    e.move(me, {in()}, {out()});
    for (int k = 1; k < n; ++k) e.move(me + k, {e.peer_in(me + k)}, {out()});
  });
}

inline void pull_all_to_all(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n});
  visit(e, everyone_visits_everyone(e), [&] {
    e.move(me, {in()}, {out()});
    for (int k = 1; k < n; ++k) e.move(me + k, {e.peer_in(me + k, me)}, {out()});
  });
}

inline void pull_gather(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank, root = shape.root;
  Emitter e(shape, program, {.blocks = n});
  visit(e, visits_all(e, root), [&] {
    if (me != root) return;
    e.move(me, {in()}, {out()});
    for (int k = 1; k < n; ++k) e.move(me + k, {e.peer_in(me + k)}, {out()});
  });
}

inline void pull_scatter(const Shape& shape, Program& program) {
  const int me = shape.rank, root = shape.root;
  Emitter e(shape, program, {.blocks = shape.size()});
  visit(e, all_visit(e, root), [&] { e.move(me, {me == root ? in() : e.peer_in(root)}, {out()}); });
}

}  // namespace gyre::algo
