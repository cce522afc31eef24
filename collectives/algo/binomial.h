// Binomial trees: position p's parent is p without its lowest bit, so every subtree is a run of
// positions. Positions count from the root. Knows rooted collectives; logarithmic depth.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/emit.h"

namespace gyre::algo {
namespace binomial {

struct Subtree {
  int top;   // position of a child
  int past;  // one past its last position
};

inline int parent(int position) { return position & (position - 1); }

// The children of `position` among n, nearest first: together with it they cover a run.
inline std::vector<Subtree> children(int position, int n) {
  std::vector<Subtree> all;
  const int limit = position == 0 ? n : position & -position;
  for (int width = 1; width < limit && position + width < n; width *= 2)
    all.push_back({position + width, std::min(position + 2 * width, n)});
  return all;
}

}  // namespace binomial

inline void binomial_broadcast(const Shape& shape, Program& program) {
  const int n = shape.size(), root = shape.root;
  Emitter e(shape, program, {});
  const int position = e.wrap(shape.rank - root);
  Operands targets{out()};
  for (const auto& child : binomial::children(position, n))
    targets.push_back(e.to(child.top + root));
  std::reverse(targets.begin() + 1, targets.end());  // the deepest subtree first
  e.lane();
  e.move(0, {position == 0 ? in() : e.from(binomial::parent(position) + root)}, targets);
}

inline void binomial_reduce(const Shape& shape, Program& program) {
  const int n = shape.size(), root = shape.root;
  Emitter e(shape, program, {});
  const int position = e.wrap(shape.rank - root);
  Operands sources{in()};
  for (const auto& child : binomial::children(position, n))
    sources.push_back(e.from(child.top + root));
  e.lane();
  if (position == 0)
    e.move(0, sources, {out()}, kFinal);
  else
    e.move(0, sources, {e.to(binomial::parent(position) + root)});
}

// Blocks climb one by one: no rank stores what is not its own.
inline void binomial_gather(const Shape& shape, Program& program) {
  const int n = shape.size(), root = shape.root;
  Emitter e(shape, program, {.blocks = n});
  const int position = e.wrap(shape.rank - root);
  const Operand target = position == 0 ? out() : e.to(binomial::parent(position) + root);
  e.lane();
  e.move(shape.rank, {in()}, {target});
  for (const auto& child : binomial::children(position, n))
    for (int p = child.top; p < child.past; ++p)
      e.move(p + root, {e.from(child.top + root)}, {target});
}

inline void binomial_scatter(const Shape& shape, Program& program) {
  const int n = shape.size(), root = shape.root;
  Emitter e(shape, program, {.blocks = n});
  const int position = e.wrap(shape.rank - root);
  const Operand source = position == 0 ? in() : e.from(binomial::parent(position) + root);
  e.lane();
  e.move(shape.rank, {source}, {out()});
  for (const auto& child : binomial::children(position, n))
    for (int p = child.top; p < child.past; ++p)
      e.move(p + root, {source}, {e.to(child.top + root)});
}

}  // namespace gyre::algo
