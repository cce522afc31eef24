// Bruck: all-to-all in ceil(log2 n) steps. Data for the rank x above travels the bits of x, lowest
// first, so every block goes up to log2 n times: for the smallest messages.
#pragma once

#include "collectives/emit.h"

namespace gyre::algo {

// Scratch block x holds what has x's higher bits still to go. All blocks are of one size, so a
// FIFO's block names an extent and no more.
inline void bruck_all_to_all(const Shape& shape, Program& program) {
  const int n = shape.size(), me = shape.rank;
  Emitter e(shape, program, {.blocks = n, .scratch_blocks = n});
  e.lane();
  e.move(me, {in()}, {out()});
  for (int distance = 1; distance < n; distance *= 2) {
    const Operand to = e.to(me + distance), from = e.from(me - distance);
    for (int x = distance; x < n; ++x) {
      if (!(x & distance)) continue;
      const bool first = x % distance == 0, last = x < 2 * distance;
      e.move(me + x, {first ? in() : scratch(x)}, {to});
      e.move(me - x, {from}, {last ? out() : scratch(x)});
    }
  }
}

}  // namespace gyre::algo
