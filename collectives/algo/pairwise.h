// Pairwise: every pair of ranks exchanges its data directly, each direction in a lane of its own
// with its own loop count, so that no pair waits for another and uneven counts need no agreement.
#pragma once

#include "collectives/emit.h"

namespace gyre::algo {
namespace pairwise {

inline void copy_lane(Emitter& e, int block, Operand source, Operand target) {
  e.lane(0, /*own_loops=*/true);
  e.move(block, {source}, {target});
}

}  // namespace pairwise

inline void pairwise_all_to_all(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n});
  pairwise::copy_lane(e, me, in(), out());
  for (int k = 1; k < n; ++k) {
    pairwise::copy_lane(e, me + k, in(), e.to(me + k));
    pairwise::copy_lane(e, me - k, e.from(me - k), out());
  }
}

// Blocks below n are what I send, those from n on what I receive (plan.h).
inline void pairwise_all_to_all_v(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = 2 * n});
  pairwise::copy_lane(e, me, in(), out(n + me));
  for (int k = 1; k < n; ++k) {
    const int up = e.wrap(me + k), down = e.wrap(me - k);
    pairwise::copy_lane(e, up, in(), e.to(up));
    pairwise::copy_lane(e, n + down, e.from(down), out());
  }
}

inline void pairwise_gather(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank, root = shape.root;
  Emitter e(shape, program, {.blocks = n});
  if (me != root) return pairwise::copy_lane(e, me, in(), e.to(root));
  pairwise::copy_lane(e, me, in(), out());
  for (int k = 1; k < n; ++k) pairwise::copy_lane(e, me + k, e.from(me + k), out());
}

inline void pairwise_scatter(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank, root = shape.root;
  Emitter e(shape, program, {.blocks = n});
  if (me != root) return pairwise::copy_lane(e, me, e.from(root), out());
  pairwise::copy_lane(e, me, in(), out());
  for (int k = 1; k < n; ++k) pairwise::copy_lane(e, me + k, in(), e.to(me + k));
}

// Point to point: one lane of one move. shape.root is the other end, which may be this rank.
inline void pairwise_send(const Shape& shape, Program& program) {
  Emitter e(shape, program, {});
  pairwise::copy_lane(e, 0, in(), e.to(shape.root, kPointToPointEdge));
}

inline void pairwise_recv(const Shape& shape, Program& program) {
  Emitter e(shape, program, {});
  pairwise::copy_lane(e, 0, e.from(shape.root, kPointToPointEdge), out());
}

}  // namespace gyre::algo
