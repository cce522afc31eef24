// Shape of the bootstrap tree: binomial within each root's block of ranks, binomial again over the
// blocks' first ranks. Pure arithmetic on ranks; knows no sockets.
#pragma once

#include <vector>

namespace gyre {

struct Tree {
  int size = 1;
  int blocks = 1;  // one for each root, 1 <= blocks <= size

  int first_of(int block) const;  // first rank of a block; size for block == blocks
  int block_of(int rank) const;
  bool leads(int rank) const { return first_of(block_of(rank)) == rank; }
  // Always lower than `rank`; -1 for rank 0.
  int parent(int rank) const;
  std::vector<int> children(int rank) const;
  int depth(int rank) const;   // edges to rank 0
  int height(int rank) const;  // edges to the deepest rank below
  // Whether a rank comes to a block's root: the block does, and at block 0 the other leaders too.
  bool calls(int rank, int block) const {
    return block_of(rank) == block || (block == 0 && leads(rank));
  }
  std::vector<int> callers(int block) const;
};

}  // namespace gyre
