#include "collectives/print.h"

#include <gtest/gtest.h>

#include "shapes.h"

namespace gyre {
namespace {

std::string table(Collective c, Algorithm a, int rank, int n) {
  const Layout layout = single_host_layout(n);
  const Shape shape{c, a, rank, 0, &layout};
  return "\n" + to_table(shape, *build_program(shape));
}

TEST(Print, ring_reads_aloud) {
  EXPECT_EQ(table(Collective::all_reduce, Algorithm::ring, 3, 8), R"(
all_reduce ring, rank 3 of 8: blocks 8, parts 1, lanes 1, moves 5, edges 2, slots at least 2
lane 0, part 0
  body       0  in[2] -> to 4
             1  from 2 + in[1] -> to 4  x6 step -1
             2  from 2 + in[3] -> out[3], to 4  final
             3  from 2 -> out[2], to 4  x6 step -1
             4  from 2 -> out[4]
)");
}
TEST(Print, tree_reads_aloud) {
  EXPECT_EQ(table(Collective::all_reduce, Algorithm::tree, 1, 5), R"(
all_reduce tree, rank 1 of 5: blocks 1, parts 2, lanes 4, moves 4, edges 8, slots at least 1
lane 0, part 0
  body       0  in[0] + from 0 + from 2 -> to 3
lane 1, part 0
  body       0  from 3 -> out[0], to 0, to 2
lane 2, part 1
  body       0  in[0] -> to 0.1
lane 3, part 1
  body       0  from 0.1 -> out[0]
)");
}
TEST(Print, circulant_reads_aloud) {
  EXPECT_EQ(table(Collective::all_reduce, Algorithm::circulant, 0, 5), R"(
all_reduce circulant, rank 0 of 5: blocks 5, parts 1, lanes 1, moves 9, edges 8, slots at least 2
lane 0, part 0
  body       0  in[4] -> to 3
             1  in[1] + from 2 -> to 1
             2  in[2] -> to 2
             3  in[3] -> to 3
             4  in[0] + from 2 + from 3 + from 4 -> out[0], to 2, to 3, to 4  final
             5  from 3 -> out[3]
             6  from 2 -> out[2]
             7  from 1 -> out[1], to 2
             8  from 3 -> out[4]
)");
}
TEST(Print, pull_reads_aloud) {
  EXPECT_EQ(table(Collective::all_reduce, Algorithm::window_pull, 1, 3), R"(
all_reduce window_pull, rank 1 of 3: blocks 3, parts 1, lanes 1, moves 9, edges 4, slots at least 1
lane 0, part 0
  prologue   0  tell 2, 0
             1  wait for 2, 0
  body       0  in[1] of 0 + in[1] + in[1] of 2 -> out[1]  final
             1  tell 2, 0
             2  wait for 2, 0
             3  out[2] of 2 -> out[2]
             4  out[0] of 0 -> out[0]
  epilogue   0  tell 2, 0
             1  wait for 2, 0
)");
}
TEST(Print, bruck_reads_aloud) {
  EXPECT_EQ(table(Collective::all_to_all, Algorithm::bruck, 0, 4), R"(
all_to_all bruck, rank 0 of 4: blocks 4, parts 1, lanes 1, moves 9, edges 4, slots at least 1
lane 0, part 0
  body       0  in[0] -> out[0]
             1  in[1] -> to 1
             2  from 3 -> out[3]
             3  in[3] -> to 1
             4  from 3 [1] -> scratch[3]
             5  in[2] -> to 2
             6  from 2 -> out[2]
             7  scratch[3] -> to 2 [3]
             8  from 2 -> out[1]
)");
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Picture, has_a_dot_per_turn_and_a_line_per_message) {
  const Layout layout = single_host_layout(4);
  const Shape shape{Collective::all_reduce, Algorithm::ring, 0, 0, &layout};
  const auto svg = to_svg(shape, *build_all(shape));
  ASSERT_TRUE(svg);
  EXPECT_EQ(count(*svg, "<circle"), 4u * 7);
  EXPECT_EQ(count(*svg, "stroke=\"hsl"), 4u * 6);
  EXPECT_EQ(svg->rfind("</svg>\n"), svg->size() - 7);
}

TEST(Picture, of_every_plan_can_be_drawn) {
  for (const Entry& entry : catalog()) {
    if (is_point_to_point(entry.collective)) continue;
    const Layout layout = layout_for(entry, 7);
    const Shape shape{entry.collective, entry.algorithm, 0, 0, &layout};
    EXPECT_TRUE(to_svg(shape, *build_all(shape))) << name_of(entry);
  }
}

TEST(Picture, of_a_plan_that_stops_says_where) {
  const Layout layout = single_host_layout(2);
  const Shape shape{Collective::all_reduce, Algorithm::doubling, 0, 0, &layout};
  auto programs = *build_all(shape);
  programs[0].lanes[0].body = 0;
  const auto svg = to_svg(shape, programs);
  ASSERT_FALSE(svg);
  EXPECT_NE(svg.error().text.find("rank 1 lane 0 move 1"), std::string::npos);
}

}  // namespace
}  // namespace gyre
