#include "collectives/emit.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

Program built(Collective collective, Algorithm algorithm, int rank, int size, int root = 0) {
  const Layout layout = single_host_layout(size);
  return *build_program({collective, algorithm, rank, root, &layout});
}

TEST(Emit, ring_of_any_size_is_five_moves) {
  const Program program = built(Collective::all_reduce, Algorithm::ring, 7, 64);
  ASSERT_EQ(program.moves.size(), 5u);
  EXPECT_EQ(program.moves[1].repeat, 62);
  EXPECT_EQ(program.moves[1].block_step, -1);
  EXPECT_EQ(block_at(program, program.moves[1], program.refs[program.moves[1].ref], 6), 63);
}

TEST(Emit, an_edge_is_one_edge_however_often_it_is_named) {
  const Program program = built(Collective::all_reduce, Algorithm::ring, 1, 4);
  EXPECT_EQ(program.edges.size(), 2u);
}

TEST(Emit, one_rank_copies_and_says_that_it_is_final) {
  const Program program = built(Collective::all_reduce, Algorithm::ring, 0, 1);
  ASSERT_EQ(program.moves.size(), 1u);
  EXPECT_EQ(program.moves[0].flags, kFinal);
  EXPECT_TRUE(program.edges.empty());
}

TEST(Catalog, names_come_back_as_they_went) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_EQ(*parse_algorithm(to_text(algorithm)), algorithm);
  }
  EXPECT_FALSE(parse_algorithm("rings"));
}

TEST(Catalog, what_cannot_be_built_is_an_error) {
  const Layout layout = single_host_layout(256);
  EXPECT_FALSE(build_program({Collective::all_reduce, Algorithm::one_shot, 0, 0, &layout}));
  EXPECT_FALSE(build_program({Collective::barrier, Algorithm::ring, 0, 0, &layout}));
  EXPECT_FALSE(build_program({Collective::all_reduce, Algorithm::ring, 256, 0, &layout}));
}

}  // namespace
}  // namespace gyre
