// Double binary tree: two trees over the same ranks, each carrying half of the data, such that a
// rank that has children in one is a leaf in the other: logarithmic depth and full bandwidth. A
// tree is in order: position p (from 1) at height ctz(p), so odd positions are leaves; the second
// tree is the first shifted by one position, which makes them inner.
#pragma once

#include <bit>
#include <vector>

#include "collectives/emit.h"

namespace gyre::algo {

struct TreeNode {
  int parent = -1;            // member, -1 at the top
  std::vector<int> children;  // members, lowest position first
};

// The place of `member` in tree 0 or 1 over members [0, n).
inline TreeNode tree_node(int tree, int member, int n) {
  const auto position_of = [&](int m) { return (m + tree) % n + 1; };
  const auto member_of = [&](int position) { return (position - 1 + n - tree) % n; };
  const auto up = [](int position) {  // in the tree without end
    const int height = position & -position;
    return (position & (height * 2)) ? position - height : position + height;
  };
  const int position = position_of(member), height = position & -position;
  TreeNode node;
  if (position != static_cast<int>(std::bit_floor(static_cast<unsigned>(n)))) {
    int parent = up(position);
    while (parent > n) parent = up(parent);
    node.parent = member_of(parent);
  }
  if (height > 1) node.children.push_back(member_of(position - height / 2));
  for (int step = height / 2; step > 0; step /= 2) {
    if (position + step > n) continue;
    node.children.push_back(member_of(position + step));
    break;
  }
  return node;
}

// The member at the top of the tree.
inline int tree_top(int tree, int n) {
  const int position = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  return (position - 1 + n - tree) % n;
}

// Tree t has edges of index t: its parent may be a child in the other tree.
inline void tree_all_reduce(const Shape& shape, Program& program) {
  Emitter e(shape, program, {.parts = 2});
  for (int t = 0; t < 2; ++t) {
    const TreeNode node = tree_node(t, shape.rank, shape.size());
    Operands parts{in()}, results{out()};
    for (const int child : node.children) parts.push_back(e.from(child, t));
    for (const int child : node.children) results.push_back(e.to(child, t));
    e.lane(t);
    if (node.parent < 0) {
      e.move(0, parts, results, kFinal);
      continue;
    }
    e.move(0, parts, {e.to(node.parent, t)});
    e.lane(t);  // down beside up, so that the next loop climbs while this one descends
    e.move(0, {e.from(node.parent, t)}, results);
  }
}

// Rooted: both trees stand on the ranks other than the root, which feeds or drains their tops.
namespace tree {

struct Rooted {
  int root, n;
  int member(int rank) const { return (rank - root - 1 + n) % n; }
  int rank(int member) const { return (member + root + 1) % n; }
  int parent(const TreeNode& node) const { return node.parent < 0 ? root : rank(node.parent); }
};

}  // namespace tree

inline void tree_broadcast(const Shape& shape, Program& program) {
  const tree::Rooted rooted{shape.root, shape.size()};
  const int others = rooted.n - 1;
  Emitter e(shape, program, {.parts = 2});
  for (int t = 0; t < 2; ++t) {
    e.lane(t);
    if (shape.rank == shape.root) {
      e.move(0, {in()}, {out(), e.to(rooted.rank(tree_top(t, others)), t)});
      continue;
    }
    const TreeNode node = tree_node(t, rooted.member(shape.rank), others);
    Operands targets{out()};
    for (const int child : node.children) targets.push_back(e.to(rooted.rank(child), t));
    e.move(0, {e.from(rooted.parent(node), t)}, targets);
  }
}

inline void tree_reduce(const Shape& shape, Program& program) {
  const tree::Rooted rooted{shape.root, shape.size()};
  const int others = rooted.n - 1;
  Emitter e(shape, program, {.parts = 2});
  for (int t = 0; t < 2; ++t) {
    e.lane(t);
    if (shape.rank == shape.root) {
      e.move(0, {in(), e.from(rooted.rank(tree_top(t, others)), t)}, {out()}, kFinal);
      continue;
    }
    const TreeNode node = tree_node(t, rooted.member(shape.rank), others);
    Operands sources{in()};
    for (const int child : node.children) sources.push_back(e.from(rooted.rank(child), t));
    e.move(0, sources, {e.to(rooted.parent(node), t)});
  }
}

}  // namespace gyre::algo
