#include "core/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

namespace gyre {
namespace {

// For every size and number of roots: one tree, low degree, low depth, each rank known to its root.
TEST(Tree, spans_all_ranks_with_few_neighbours) {
  for (int size = 1; size <= 70; ++size) {
    for (int blocks = 1; blocks <= size; ++blocks) {
      const Tree tree{size, blocks};
      const int log = static_cast<int>(std::bit_width(static_cast<unsigned>(size)));
      std::vector<int> times_child(static_cast<std::size_t>(size), 0);
      for (int rank = 0; rank < size; ++rank) {
        const auto children = tree.children(rank);
        for (const int child : children) {
          ASSERT_GT(child, rank);
          ASSERT_LT(child, size);
          ASSERT_EQ(tree.parent(child), rank) << size << " ranks, " << blocks << " blocks";
          ++times_child[static_cast<std::size_t>(child)];
        }
        ASSERT_LE(std::ssize(children), blocks == 1 ? log : 2 * log);
        ASSERT_LE(tree.depth(rank), 2 * log);
        const int block = tree.block_of(rank);
        ASSERT_GE(rank, tree.first_of(block));
        ASSERT_LT(rank, tree.first_of(block + 1));
      }
      ASSERT_EQ(tree.parent(0), -1);
      ASSERT_EQ(std::count(times_child.begin(), times_child.end(), 1), size - 1);
      ASSERT_EQ(tree.first_of(blocks), size);
    }
  }
}

TEST(Tree, parents_come_to_the_same_root) {
  for (const Tree tree : {Tree{1, 1}, Tree{7, 3}, Tree{64, 4}, Tree{65, 65}, Tree{10'000, 16}}) {
    for (int rank = 1; rank < tree.size; ++rank) {
      const int root = tree.leads(rank) ? 0 : tree.block_of(rank);
      ASSERT_TRUE(tree.calls(rank, root));
      ASSERT_TRUE(tree.calls(tree.parent(rank), root));
      if (tree.size == 10'000) rank += 97;
    }
  }
}

TEST(Tree, height_is_that_of_the_deepest_rank) {
  for (int size : {1, 2, 3, 8, 9, 64}) {
    const Tree tree{size, 1};
    int deepest = 0;
    for (int rank = 0; rank < size; ++rank) deepest = std::max(deepest, tree.depth(rank));
    EXPECT_EQ(tree.height(0), deepest);
  }
}

}  // namespace
}  // namespace gyre
