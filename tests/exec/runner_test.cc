// The CPU executor on hand-made programs: sections, loops, credits, arithmetic in slots.
#include <numeric>

#include "exec/runner_stage.h"

namespace gyre {
namespace {

constexpr std::size_t kChunk = kStageChunk / sizeof(float);

using Floats = std::vector<float>;

Work floats(const Stage& stage, const Floats& input, Floats& output, Op op = Op::sum) {
  return work_on(stage.program, Type::f32, op, input, output);
}

// Sends the input to rank 1, chunk by chunk.
Program sending() {
  Program program;
  program.edges = {{1, 0, true, false}};
  add_lane(program, {.body = {{.sources = {buffer(Place::input)}, .targets = {slot(0)}}}});
  return program;
}

TEST(Runner, sends_as_far_as_credits_go_and_then_the_ragged_tail) {
  Stage stage(sending(), 2);
  const Floats input = counting(3 * kChunk + 5);
  Floats none;
  stage.runner->start(floats(stage, input, none));
  EXPECT_EQ(stage.runner->turn(), Turn::moved);
  EXPECT_EQ(stage.runner->turn(), Turn::stuck);
  ASSERT_EQ(stage.runner->blocked().size(), 1u);
  EXPECT_EQ(stage.runner->blocked()[0]->link->peer(), 1);
  Floats seen;
  for (const std::size_t expected : {kChunk, kChunk}) {
    const Floats part = stage.receive<float>(0);
    EXPECT_EQ(part.size(), expected);
    seen.insert(seen.end(), part.begin(), part.end());
  }
  EXPECT_EQ(stage.runner->turn(), Turn::done);
  for (const std::size_t expected : {kChunk, std::size_t{5}}) {
    const Floats part = stage.receive<float>(0);
    EXPECT_EQ(part.size(), expected);
    seen.insert(seen.end(), part.begin(), part.end());
  }
  EXPECT_EQ(seen, input);
  EXPECT_TRUE(stage.runner->blocked().empty());
}

TEST(Runner, an_empty_message_is_no_step_unless_asked_for) {
  Stage stage(sending());
  Floats none;
  Work work = floats(stage, none, none);
  stage.runner->start(work);
  EXPECT_EQ(stage.runner->turn(), Turn::done);
  EXPECT_FALSE(stage.drain(0).ready());
  work.loops_min = 1;
  stage.runner->start(work);
  EXPECT_EQ(stage.runner->turn(), Turn::done);
  ASSERT_TRUE(stage.drain(0).ready());
  EXPECT_EQ(stage.drain(0).header().call, work.call);
  EXPECT_TRUE(stage.receive<float>(0).empty());
}

// Prologue waits for a token, body sends, epilogue posts one.
Program guarded() {
  Program program;
  program.edges = {{1, 0, true, false}, {1, 0, false, true}, {1, 0, true, true}};
  add_lane(program, {.prologue = {{.waits = {token(1)}}},
                     .body = {{.sources = {buffer(Place::input)}, .targets = {slot(0)}}},
                     .epilogue = {{.posts = {token(2)}}}});
  return program;
}

TEST(Runner, prologue_and_epilogue_run_once_whatever_the_loops) {
  for (const std::size_t loops : {0u, 1u, 3u}) {
    Stage stage(guarded());
    const Floats input = counting(loops * kChunk);
    Floats none;
    Work work = floats(stage, input, none);
    stage.runner->start(work);
    EXPECT_EQ(stage.runner->turn(), Turn::stuck) << "the token has not come";
    stage.send<float>(1, work.call, {});
    EXPECT_EQ(stage.runner->turn(), Turn::done);
    EXPECT_EQ(stage.feed(1).step(), 1u);
    for (std::size_t i = 0; i < loops; ++i) EXPECT_EQ(stage.receive<float>(0).size(), kChunk);
    EXPECT_FALSE(stage.drain(0).ready());
    EXPECT_TRUE(stage.receive<float>(2).empty());
    EXPECT_FALSE(stage.drain(2).ready());
  }
}

// Two lanes, each sends a block of its own length.
TEST(Runner, lanes_with_loops_of_their_own_count_their_own_block) {
  Program program;
  program.blocks = 2;
  program.edges = {{1, 0, true, false}, {2, 0, true, false}};
  for (std::uint16_t lane = 0; lane < 2; ++lane)
    add_lane(program,
             {.body = {{.sources = {buffer(Place::input, lane)}, .targets = {slot(lane, lane)}}},
              .own_loops = true});
  Stage stage(std::move(program), 8);
  const Floats input = counting(5 * kChunk);
  const std::uint64_t counts[] = {3 * kChunk + 1, kChunk - 2}, offsets[] = {0, 4 * kChunk};
  Floats none;
  Work work = floats(stage, input, none);
  work.geometry.counts = counts;
  work.input_offsets = offsets;
  work.geometry.loops = 99;
  stage.runner->start(work);
  EXPECT_EQ(stage.runner->turn(), Turn::moved) << "lanes take turns";
  while (stage.runner->turn() != Turn::done) {
  }
  EXPECT_EQ(stage.drain(0).step(), 0u);
  for (const std::size_t expected : {kChunk, kChunk, kChunk, std::size_t{1}})
    EXPECT_EQ(stage.receive<float>(0).size(), expected);
  EXPECT_FALSE(stage.drain(0).ready());
  EXPECT_EQ(stage.receive<float>(1),
            Floats(input.begin() + 4 * kChunk, input.begin() + 5 * kChunk - 2));
  EXPECT_FALSE(stage.drain(1).ready());
}

TEST(Runner, parts_split_a_block_between_lanes) {
  Program program;
  program.parts = 2;
  program.edges = {{1, 0, true, false}, {1, 1, true, false}};
  for (std::uint16_t lane = 0; lane < 2; ++lane)
    add_lane(program, {.body = {{.sources = {buffer(Place::input)}, .targets = {slot(lane)}}},
                       .part = lane});
  Stage stage(std::move(program), 8);
  const Floats input = counting(3 * kChunk + 1);
  Floats none;
  stage.runner->start(floats(stage, input, none));
  while (stage.runner->turn() != Turn::done) {
  }
  EXPECT_EQ(stage.receive<float>(0).front(), 0);
  EXPECT_EQ(stage.receive<float>(1).front(), static_cast<float>(kChunk));
  EXPECT_EQ(stage.receive<float>(0).front(), static_cast<float>(2 * kChunk));
  EXPECT_EQ(stage.receive<float>(1), Floats{static_cast<float>(3 * kChunk)});
}

TEST(Runner, repeated_moves_walk_the_blocks_and_come_round) {
  Program program;
  program.blocks = 3;
  program.edges = {{1, 0, true, false}};
  add_lane(program, {.body = {{.sources = {buffer(Place::input, 1)},
                               .targets = {slot(0, 1)},
                               .repeat = 4,
                               .block_step = -1}}});
  Stage stage(std::move(program));
  const Floats input = {10, 11, 12};
  Floats none;
  stage.runner->start(floats(stage, input, none));
  EXPECT_EQ(stage.runner->turn(), Turn::done);
  for (const float expected : {11.0f, 10.0f, 12.0f, 11.0f})
    EXPECT_EQ(stage.receive<float>(0), Floats{expected});
}

// Incoming plus own, kept and passed on.
Program reducing(std::uint16_t flags = 0) {
  Program program;
  program.edges = {{1, 0, false, false}, {1, 0, true, false}};
  add_lane(program, {.body = {{.sources = {slot(0), buffer(Place::input)},
                               .targets = {buffer(Place::output), slot(1)},
                               .flags = flags}}});
  return program;
}

TEST(Runner, reduces_a_slot_and_a_buffer_into_a_buffer_and_a_slot) {
  Stage stage(reducing());
  const Floats input = {1, 2, 3};
  Floats output(3);
  const Work work = floats(stage, input, output);
  stage.runner->start(work);
  EXPECT_EQ(stage.runner->turn(), Turn::stuck);
  stage.send(0, work.call, Floats{10, 20, 30});
  EXPECT_EQ(stage.runner->turn(), Turn::done);
  EXPECT_EQ(output, (Floats{11, 22, 33}));
  EXPECT_EQ(stage.receive<float>(1), output);
}

TEST(Runner, an_average_divides_at_the_final_move_alone) {
  for (const std::uint16_t flags : {std::uint16_t{0}, kFinal}) {
    Stage stage(reducing(flags));
    const Floats input = {1, 2, 3};
    Floats output(3);
    Work work = floats(stage, input, output, Op::avg);
    work.ranks = 4;
    stage.runner->start(work);
    stage.send(0, work.call, Floats{9, 18, 27});
    EXPECT_EQ(stage.runner->turn(), Turn::done);
    EXPECT_EQ(output, flags ? (Floats{2.5, 5, 7.5}) : (Floats{10, 20, 30}));
  }
}

TEST(Runner, a_premultiplied_sum_scales_inputs_and_not_what_arrives) {
  Stage stage(reducing());
  const Floats input = {1, 2, 3};
  Floats output(3);
  const float scalar = 0.5f;
  Work work = floats(stage, input, output, Op::premul_sum);
  work.scale = &scalar;
  stage.runner->start(work);
  stage.send(0, work.call, Floats{10, 20, 30});
  EXPECT_EQ(stage.runner->turn(), Turn::done);
  EXPECT_EQ(output, (Floats{10.5, 21, 31.5}));
}

TEST(Runner, scratch_keeps_a_chunk_per_lane_between_moves) {
  Program program;
  program.scratch_blocks = 2;
  program.parts = 2;
  program.edges = {{1, 0, true, false}, {1, 1, true, false}};
  for (std::uint16_t lane = 0; lane < 2; ++lane)
    add_lane(program,
             {.body = {{.sources = {buffer(Place::input)}, .targets = {buffer(Place::scratch, 1)}},
                       {.sources = {buffer(Place::scratch, 1), buffer(Place::input)},
                        .targets = {slot(lane)}}},
              .part = lane});
  Stage stage(std::move(program));
  const Floats input = counting(2 * kChunk);
  Floats none;
  stage.runner->start(floats(stage, input, none));
  while (stage.runner->turn() != Turn::done) {
  }
  for (const std::size_t lane : {0u, 1u}) {
    const Floats seen = stage.receive<float>(lane);
    ASSERT_EQ(seen.size(), kChunk);
    for (std::size_t i = 0; i < kChunk; ++i) EXPECT_EQ(seen[i], 2 * input[lane * kChunk + i]);
  }
}

TEST(Runner, stores_around_the_caches_give_the_same_bytes) {
  Program program;
  add_lane(program, {.body = {{.sources = {buffer(Place::input), buffer(Place::input)},
                               .targets = {buffer(Place::output)}}}});
  Stage stage(std::move(program));
  const Floats input = counting(100'003);
  Floats plain(input.size()), around(input.size());
  for (Floats* output : {&plain, &around}) {
    Work work = floats(stage, input, *output);
    work.streaming = output == &around;
    work.geometry.chunk_elems = 4099;  // odd, so that chunks begin at every alignment
    work.geometry.loops = work.geometry.loops_for(input.size());
    stage.runner->start(work);
    EXPECT_EQ(stage.runner->turn(), Turn::done);
  }
  EXPECT_EQ(plain[100'002], 2 * input[100'002]);
  EXPECT_EQ(plain, around);
}

TEST(Runner, is_not_done_before_a_posted_link_has_taken_everything) {
  Stage stage(sending(), 4, false);
  ASSERT_EQ(stage.runner->posted_links().size(), 1u);
  const Floats input = counting(4);
  Floats none;
  stage.links[0].clear = false;
  stage.runner->start(floats(stage, input, none));
  EXPECT_EQ(stage.runner->turn(), Turn::moved);
  EXPECT_EQ(stage.runner->turn(), Turn::stuck);
  EXPECT_TRUE(stage.runner->blocked().empty());
  stage.links[0].clear = true;
  EXPECT_EQ(stage.runner->turn(), Turn::done);
}

}  // namespace
}  // namespace gyre
