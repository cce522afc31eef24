// The faults on purpose: how they are spelled, and that a cut is an error with a name on both
// sides. What they must not break is the link tests' matter, which run over disturbed links too.
#include "transport/chaos.h"

#include <gtest/gtest.h>

#include "transport/link_edge.h"

namespace gyre {
namespace {

TEST(ChaosKnob, says_what_it_was_told) {
  Chaos chaos;
  ASSERT_TRUE(parse_param("seed=7,delay=50us,short=100,cut=5000", chaos));
  EXPECT_EQ(chaos.seed, 7u);
  EXPECT_EQ(chaos.delay, 50'000);
  EXPECT_EQ(chaos.short_bytes, 100u);
  EXPECT_EQ(chaos.cut, 5000u);
  EXPECT_TRUE(chaos.active());
  Chaos again;
  ASSERT_TRUE(parse_param(param_text(chaos), again));
  EXPECT_EQ(param_text(again), param_text(chaos));
  Chaos nothing;
  ASSERT_TRUE(parse_param("", nothing));
  EXPECT_FALSE(nothing.active());
  ASSERT_TRUE(parse_param("seed=3", nothing));
  EXPECT_FALSE(nothing.active()) << "a seed alone disturbs nothing";
}

TEST(ChaosKnob, refuses_what_it_does_not_fully_understand) {
  for (const char* text :
       {"seed", "seed=", "seed=x", "seed=1,", ",seed=1", "seed=-1", "seed=1;cut=2", "delay=5q",
        "cut=1,cut=2", "cat=1", "short=1x", " seed=1"}) {
    Chaos chaos;
    EXPECT_FALSE(parse_param(text, chaos)) << text;
  }
}

// Sends in both directions until each end has failed; gives the errors.
std::vector<Error> errors_of(LinkPair& pair) {
  std::vector<TestEdge> edges;
  for (const int source : {0, 1}) edges.push_back({{EdgeKind::bulk, 0}, {4, 1000}, source, {}, {}});
  std::vector<Error> seen(2);
  bool failed[2] = {};
  auto note = [&](int end, Error why) {
    if (!failed[end]) seen[static_cast<std::size_t>(end)] = std::move(why);
    failed[end] = true;
    // As a rank does that gives up: it tells, and goes.
    pair.ends[end]->leave({Code::remote, 1 - end, "gave up"});
  };
  for (TestEdge& edge : edges) {
    auto reader = pair.ends[1 - edge.source]->incoming(edge.key, edge.shape);
    if (reader)
      edge.reader = *reader;
    else
      note(1 - edge.source, reader.take_error());
  }
  bool open[2] = {};
  const Nanos deadline = deadline_in(20_s);
  while (!(failed[0] && failed[1])) {
    if (now_ns() > deadline) return {};
    for (int end = 0; end < 2; ++end) {
      if (failed[end]) continue;
      TestEdge& out = edges[static_cast<std::size_t>(end)];
      TestEdge& in = edges[static_cast<std::size_t>(1 - end)];
      if (!open[end]) {
        auto writer = pair.ends[end]->outgoing(out.key, out.shape);
        if (!writer) {
          note(end, writer.take_error());
          continue;
        }
        open[end] = writer->has_value();
        if (*writer) out.writer = **writer;
      }
      if (open[end] && out.writer.can_send()) out.put();
      if (in.reader.memory() && in.reader.ready()) in.take();
      if (auto turned = pair.ends[end]->turn(); !turned) note(end, turned.take_error());
      auto news = pair.news(end);
      if (!news) note(end, news.take_error());
      if (news && news->farewell) note(end, {Code::remote, news->farewell->culprit, "rank 0 or 1"});
    }
  }
  return seen;
}

TEST(Chaos, a_cut_is_a_named_error_on_both_sides) {
  for (const std::uint64_t cut : {3u, 400u})
    for (const LinkMaker& maker : cutting_makers(cut))
      for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(maker.name + " seed " + std::to_string(seed));
        LinkPair pair = maker.make(seed);
        for (auto& line : pair.lines) line.clear();
        const std::vector<Error> errors = errors_of(pair);
        ASSERT_EQ(errors.size(), 2u) << "one side never learnt of it";
        for (const Error& error : errors) {
          EXPECT_EQ(error.code, Code::remote);
          EXPECT_GE(error.rank, 0);
          EXPECT_NE(error.text.find("rank "), std::string::npos) << error.text;
        }
      }
}

TEST(Chaos, the_same_seed_cuts_at_the_same_place) {
  auto place = [](std::uint64_t seed) {
    LinkPair pair = cutting_makers(50)[0].make(seed);
    TestEdge edge = opened(pair, 0, {2, 64});
    for (;;) {
      if (edge.writer.can_send()) edge.put();
      if (edge.reader.ready()) edge.take();
      if (!pair.ends[1]->turn()) return edge.reader.step();
    }
  };
  EXPECT_EQ(place(5), place(5));
  EXPECT_NE(place(5), place(6));
}

}  // namespace
}  // namespace gyre
