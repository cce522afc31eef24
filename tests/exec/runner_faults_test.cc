// The CPU executor when calls differ, and peers' buffers reached by pointer and by single copy.
#include "exec/runner_stage.h"

namespace gyre {
namespace {

constexpr std::size_t kChunk = kStageChunk / sizeof(float);

using Floats = std::vector<float>;

Work floats(const Stage& stage, const Floats& input, Floats& output, std::uint64_t sequence = 1) {
  return work_on(stage.program, Type::f32, Op::sum, input, output, sequence);
}

CallSignature other_call(const Work& work) {
  return make_signature(Collective::all_gather, work.type, work.op, 0, work.call.sequence(), 77);
}

// One exchange with two peers: own input to both, then both sums into the output.
Program exchange() {
  Program program;
  program.edges = {
      {1, 0, true, false}, {2, 0, true, false}, {1, 0, false, false}, {2, 0, false, false}};
  add_lane(program, {.body = {{.sources = {buffer(Place::input)}, .targets = {slot(0), slot(1)}},
                              {.sources = {buffer(Place::input), slot(2), slot(3)},
                               .targets = {buffer(Place::output)}}}});
  return program;
}

TEST(RunnerMismatch, ends_the_call_and_names_both_calls) {
  Stage stage(exchange());
  const Floats input = {1, 2};
  Floats output = {-1, -1};
  const Work work = floats(stage, input, output);
  stage.runner->start(work);
  stage.send(2, work.call, Floats{1, 1});
  stage.send(3, other_call(work), Floats{1, 1});
  EXPECT_EQ(stage.runner->turn(), Turn::failed);
  const auto& failure = stage.runner->failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Code::invalid_usage);
  EXPECT_EQ(failure->rank, 2);
  for (const char* part : {"all_reduce", "all_gather", "of 77", "rank 2"})
    EXPECT_NE(failure->text.find(part), std::string::npos) << failure->text;
  EXPECT_EQ(output, (Floats{-1, -1})) << "nothing of a mismatched call may be written";
  EXPECT_EQ(stage.edges[2].reader.step(), 0u) << "nor is anything taken";
}

// A longer message than this call has room for must not be read either.
TEST(RunnerMismatch, a_peer_with_more_elements_writes_nothing_here) {
  Stage stage(exchange());
  const Floats input = {1, 2};
  Floats output = {-1, -1};
  const Work work = floats(stage, input, output);
  stage.runner->start(work);
  stage.send(2, make_signature(Collective::all_reduce, work.type, work.op, 0, 1, 16), counting(16));
  stage.send(3, work.call, Floats{1, 1});
  EXPECT_EQ(stage.runner->turn(), Turn::failed);
  EXPECT_EQ(output, (Floats{-1, -1}));
}

TEST(RunnerMismatch, a_tolerant_call_stays_in_step_with_its_peers) {
  Stage stage(exchange());
  const Floats input = {1, 2};
  Floats output = {-1, -1};
  Work work = floats(stage, input, output);
  work.tolerant = true;
  work.loops_min = 1;
  stage.runner->start(work);
  stage.send(2, other_call(work), Floats{5});
  EXPECT_EQ(stage.runner->turn(), Turn::moved);
  EXPECT_EQ(stage.runner->turn(), Turn::stuck) << "it waits for the other peer as well";
  stage.send(3, work.call, Floats{1, 1});
  EXPECT_EQ(stage.runner->turn(), Turn::failed);
  EXPECT_EQ(stage.runner->failure()->rank, 1);
  EXPECT_EQ(output, (Floats{-1, -1}));
  for (std::size_t edge : {0u, 1u}) stage.receive<float>(edge);

  Work next = floats(stage, input, output, 2);
  next.tolerant = true;
  stage.runner->start(next);
  stage.send(2, next.call, Floats{10, 10});
  stage.send(3, next.call, Floats{100, 100});
  EXPECT_EQ(stage.runner->turn(), Turn::done);
  EXPECT_EQ(output, (Floats{111, 112}));
  for (std::size_t edge : {0u, 1u}) EXPECT_EQ(stage.receive<float>(edge), input);
}

// Sum of own input and rank 1's, read from its buffer.
Program direct() {
  Program program;
  program.edges = {{1, 0, false, true}};
  add_lane(program, {.prologue = {{.waits = {token(0)}}},
                     .body = {{.sources = {window(Place::peer_input, 1), buffer(Place::input)},
                               .targets = {buffer(Place::output)}}}});
  return program;
}

struct Windowed {
  explicit Windowed(Program program) : stage(std::move(program)) {
    windows[1].link = &stage.links[0];
  }
  Work work(const Floats& input, Floats& output) {
    Work made = floats(stage, input, output);
    made.windows = windows;
    return made;
  }
  Stage stage;
  PeerWindow windows[2];
};

TEST(RunnerWindows, a_mapped_buffer_is_read_in_place) {
  Windowed direct_from(direct());
  const Floats input = counting(40), theirs = counting(40, 1000);
  Floats output(40), copy = theirs;
  direct_from.windows[1].input = reinterpret_cast<std::byte*>(copy.data());
  const Work work = direct_from.work(input, output);
  direct_from.stage.runner->start(work);
  EXPECT_EQ(direct_from.stage.runner->turn(), Turn::stuck);
  direct_from.stage.send<float>(0, work.call, {});
  EXPECT_EQ(direct_from.stage.runner->turn(), Turn::done);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(output[i], input[i] + theirs[i]);
  EXPECT_TRUE(direct_from.stage.links[0].pulls.empty());
  EXPECT_EQ(direct_from.stage.links[0].lent, 0) << "it was given back";
}

// Its owner's call has failed: the memory may be gone.
TEST(RunnerWindows, a_buffer_that_was_taken_back_is_not_touched) {
  Windowed direct_from(direct());
  const Floats input = counting(40);
  Floats output(40, -1);
  direct_from.windows[1].input = nullptr;
  direct_from.windows[1].remote_input = 1;  // nobody may look there
  StageLink& link = direct_from.stage.links[0];
  link.recalled = true;
  const Work work = direct_from.work(input, output);
  direct_from.stage.runner->start(work);
  direct_from.stage.send<float>(0, work.call, {});
  EXPECT_EQ(direct_from.stage.runner->turn(), Turn::failed);
  EXPECT_EQ(direct_from.stage.runner->failure()->code, Code::remote);
  EXPECT_EQ(direct_from.stage.runner->failure()->rank, 1);
  EXPECT_TRUE(link.pulls.empty());
  EXPECT_EQ(link.lent, 0);
  EXPECT_EQ(output, Floats(40, -1));
}

TEST(RunnerWindows, what_cannot_be_mapped_is_pulled_piece_by_piece) {
  Windowed pulled(direct());
  const Floats input = counting(3 * kChunk + 2), theirs = counting(input.size(), 1000);
  Floats output(input.size());
  pulled.windows[1].remote_input = reinterpret_cast<std::uint64_t>(theirs.data());
  Work work = pulled.work(input, output);
  work.geometry.chunk_elems = input.size();  // a chunk larger than a bounce buffer
  work.geometry.loops = 1;
  pulled.stage.runner->start(work);
  pulled.stage.send<float>(0, work.call, {});
  EXPECT_EQ(pulled.stage.runner->turn(), Turn::done);
  for (std::size_t i = 0; i < input.size(); ++i) EXPECT_EQ(output[i], input[i] + theirs[i]);
  EXPECT_EQ(pulled.stage.links[0].pulls,
            (std::vector<std::size_t>{kStageChunk, kStageChunk, kStageChunk, 2 * sizeof(float)}));
}

TEST(RunnerWindows, a_lone_pull_lands_where_it_is_wanted) {
  Program program;
  add_lane(
      program,
      {.body = {{.sources = {window(Place::peer_output, 1)}, .targets = {buffer(Place::output)}}}});
  program.edges = {{1, 0, true, true}};
  Windowed pulled(std::move(program));
  const Floats input(100), theirs = counting(100, 7);
  Floats output(100);
  pulled.windows[1].remote_output = reinterpret_cast<std::uint64_t>(theirs.data());
  Work work = pulled.work(input, output);
  work.geometry.chunk_elems = 100;
  work.geometry.loops = 1;
  pulled.stage.runner->start(work);
  EXPECT_EQ(pulled.stage.runner->turn(), Turn::done);
  EXPECT_EQ(output, theirs);
  EXPECT_EQ(pulled.stage.links[0].pulls, std::vector<std::size_t>{400});
}

TEST(RunnerWindows, stores_go_straight_into_a_mapped_peer) {
  Program program;
  add_lane(
      program,
      {.body = {{.sources = {buffer(Place::input)}, .targets = {window(Place::peer_output, 1)}}}});
  program.edges = {{1, 0, true, true}};
  Windowed pushed(std::move(program));
  const Floats input = counting(50);
  Floats theirs(50), none;
  pushed.windows[1].output = reinterpret_cast<std::byte*>(theirs.data());
  pushed.stage.runner->start(pushed.work(input, none));
  EXPECT_EQ(pushed.stage.runner->turn(), Turn::done);
  EXPECT_EQ(theirs, input);
}

TEST(RunnerWindows, a_pull_that_fails_ends_the_call_with_the_links_reason) {
  Windowed pulled(direct());
  const Floats input = counting(10);
  Floats output(10);
  pulled.stage.links[0].broken = true;
  const Work work = pulled.work(input, output);
  pulled.stage.runner->start(work);
  pulled.stage.send<float>(0, work.call, {});
  EXPECT_EQ(pulled.stage.runner->turn(), Turn::failed);
  EXPECT_EQ(pulled.stage.runner->failure()->code, Code::remote);
  EXPECT_EQ(pulled.stage.runner->failure()->rank, 1);
}

}  // namespace
}  // namespace gyre
