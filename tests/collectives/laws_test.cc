// One test per law: a plan with one thing wrong, and the sentence that names it.
#include <gtest/gtest.h>

#include "collectives/emit.h"
#include "collectives/prove.h"

namespace gyre {
namespace {

std::vector<Program> built(Collective c, Algorithm a, int n, int root = 0) {
  const Layout layout = single_host_layout(n);
  return *build_all({c, a, 0, root, &layout});
}

std::string fault(const std::vector<Program>& programs, Collective c, const ProofCase& how = {}) {
  return prove(programs, {c, static_cast<int>(programs.size()), 0}, how).fault;
}

#define EXPECT_SAYS(text, what) EXPECT_NE((text).find(what), std::string::npos) << (text)

TEST(Law1, a_circle_of_waits_is_shown_whole) {
  const std::string text = fault(built(Collective::all_reduce, Algorithm::ring, 3),
                                 Collective::all_reduce, {.slots = 1});
  EXPECT_SAYS(text, "deadlock at 1 slot:");
  EXPECT_SAYS(text, "rank 0 lane 0 move 1 turn 0 loop 0 waits for room on edge 0 -> 1");
  EXPECT_SAYS(text, "closes the circle");
}

TEST(Law1, waiting_for_one_who_has_finished_is_said) {
  auto programs = built(Collective::broadcast, Algorithm::ring, 2);
  programs[0].lanes[0].body = 0;
  EXPECT_SAYS(fault(programs, Collective::broadcast), "whose other end has finished");
}

TEST(Law2, nothing_stays_in_an_edge) {
  auto programs = built(Collective::broadcast, Algorithm::one_shot, 2);
  programs[0].moves[0].repeat = 2;
  EXPECT_SAYS(fault(programs, Collective::broadcast, {.loops = 1}), "left in edge 0 -> 1");
}

TEST(Law2, no_rank_counts_twice) {
  auto programs = built(Collective::all_reduce, Algorithm::doubling, 4);
  programs[0].refs[programs[0].moves[1].ref + 1] = {Place::input};
  EXPECT_SAYS(fault(programs, Collective::all_reduce), "counts rank 0 twice");
}

TEST(Law2, another_block_is_not_the_right_one) {
  auto programs = built(Collective::all_gather, Algorithm::one_shot, 3);
  Move& last = programs[1].moves.back();
  programs[1].refs[last.ref + last.sources].block ^= 1;
  EXPECT_NE(fault(programs, Collective::all_gather), "");
}

TEST(Law2, an_average_is_divided_once) {
  auto twice = built(Collective::all_reduce, Algorithm::ring, 2);
  twice[0].moves.back().flags = kFinal;
  EXPECT_SAYS(fault(twice, Collective::all_reduce), "finishes what is finished");
  auto never = built(Collective::all_reduce, Algorithm::ring, 2);
  for (Program& p : never)
    for (Move& move : p.moves) move.flags = 0;
  EXPECT_SAYS(fault(never, Collective::all_reduce), "is not finished");
}

TEST(Law2, all_ranks_add_alike) {
  auto programs = built(Collective::all_reduce, Algorithm::one_shot, 3);
  Ref* sources = &programs[2].refs[programs[2].moves[1].ref];
  std::swap(sources[0], sources[1]);
  EXPECT_SAYS(fault(programs, Collective::all_reduce), "added in another order");
}

TEST(Law2, in_place_inputs_are_read_before_they_are_overwritten) {
  // Each writes what it hears to its output, then adds its input.
  const Layout layout = single_host_layout(2);
  std::vector<Program> programs(2);
  for (int me = 0; me < 2; ++me) {
    Emitter e({Collective::all_reduce, Algorithm::ring, me, 0, &layout},
              programs[static_cast<std::size_t>(me)], {});
    e.lane();
    e.move(0, {in()}, {e.to(1 - me)});
    const Operand theirs = e.from(1 - me);
    e.move(0, {theirs}, {out()});
    e.move(0, me == 0 ? Operands{in(), out()} : Operands{out(), in()}, {out()}, kFinal);
  }
  EXPECT_EQ(fault(programs, Collective::all_reduce), "");
  EXPECT_SAYS(fault(programs, Collective::all_reduce, {.in_place = true}), "twice");
}

TEST(Law2, nobody_touches_a_buffer_before_its_rank_has_come) {
  auto programs = built(Collective::all_gather, Algorithm::window_push, 3);
  for (Program& p : programs) {
    p.lanes[0].first += p.lanes[0].prologue;
    p.lanes[0].prologue = 0;
  }
  EXPECT_SAYS(fault(programs, Collective::all_gather), "before he has come");
}

TEST(Law2, nobody_leaves_while_his_buffer_is_touched) {
  auto programs = built(Collective::all_gather, Algorithm::window_push, 3);
  for (Program& p : programs) p.lanes[0].epilogue = 0;
  EXPECT_SAYS(fault(programs, Collective::all_gather), "still touches its buffers");
}

TEST(Law2, a_peers_result_is_read_after_it_was_made) {
  auto programs = built(Collective::all_reduce, Algorithm::window_pull, 3);
  for (Program& p : programs) {  // without the second round of tokens
    const auto first = p.moves.begin() + p.lanes[0].prologue + 1;
    p.moves.erase(first, first + 2);
    p.lanes[0].body -= 2;
  }
  EXPECT_NE(fault(programs, Collective::all_reduce), "");
  EXPECT_NE(fault(programs, Collective::all_reduce, {.in_place = true}), "");
}

TEST(Law2, nobody_leaves_a_barrier_early) {
  auto programs = built(Collective::barrier, Algorithm::doubling, 4);
  for (Program& p : programs) p.lanes[0].prologue -= 2;
  EXPECT_SAYS(fault(programs, Collective::barrier), "may leave before rank");
}

TEST(Wiring, an_edge_has_two_ends_and_each_one_lane) {
  auto lacking = built(Collective::broadcast, Algorithm::ring, 2);
  lacking[1] = {};
  EXPECT_SAYS(fault(lacking, Collective::broadcast), "edge 0 -> 1 lacks its reading end");
  auto shared = built(Collective::all_reduce, Algorithm::tree, 4);
  for (Program& p : shared)
    for (EdgeSpec& edge : p.edges) edge.index = 0;
  EXPECT_NE(fault(shared, Collective::all_reduce), "");
}

TEST(Law3, fused_rings_need_two_slots_and_trees_one) {
  EXPECT_EQ(least_slots(built(Collective::all_reduce, Algorithm::ring, 5)), 2);
  EXPECT_EQ(least_slots(built(Collective::all_reduce, Algorithm::tree, 5)), 1);
}

}  // namespace
}  // namespace gyre
