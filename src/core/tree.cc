#include "core/tree.h"

#include <algorithm>
#include <cstdint>

namespace gyre {

namespace {

// Binomial tree over 0..count-1 rooted at 0: the parent clears the lowest set bit.
std::vector<int> binomial_children(int index, int count) {
  std::vector<int> out;
  const int limit = index == 0 ? count : index & -index;
  for (int bit = 1; bit < limit && index + bit < count; bit <<= 1) out.push_back(index + bit);
  return out;
}

}  // namespace

int Tree::first_of(int block) const {
  return static_cast<int>(std::int64_t{block} * size / blocks);
}

int Tree::block_of(int rank) const {
  int block = static_cast<int>(std::int64_t{rank} * blocks / size);
  while (first_of(block + 1) <= rank) ++block;  // the division rounds down, at most one off
  return block;
}

int Tree::parent(int rank) const {
  const int block = block_of(rank), first = first_of(block), index = rank - first;
  if (index > 0) return first + (index & (index - 1));
  return block == 0 ? -1 : first_of(block & (block - 1));
}

std::vector<int> Tree::children(int rank) const {
  const int block = block_of(rank), first = first_of(block);
  std::vector<int> out = binomial_children(rank - first, first_of(block + 1) - first);
  for (int& child : out) child += first;
  if (rank == first)
    for (const int below : binomial_children(block, blocks)) out.push_back(first_of(below));
  return out;
}

int Tree::depth(int rank) const {
  int out = 0;
  for (int at = rank; at > 0; at = parent(at)) ++out;
  return out;
}

int Tree::height(int rank) const {
  int out = 0;
  for (const int child : children(rank)) out = std::max(out, 1 + height(child));
  return out;
}

std::vector<int> Tree::callers(int block) const {
  std::vector<int> out;
  for (int rank = first_of(block); rank < first_of(block + 1); ++rank) out.push_back(rank);
  if (block == 0)
    for (int other = 1; other < blocks; ++other) out.push_back(first_of(other));
  return out;
}

}  // namespace gyre
