// What every link promises of its FIFOs, whatever carries them: order, content, credits.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "transport/link_edge.h"

namespace gyre {
namespace {

class Links : public LinkFixture {};
INSTANTIATE_TEST_SUITE_P(All, Links, testing::ValuesIn(link_makers()), maker_name);

std::vector<TestEdge> several_edges() {
  std::vector<TestEdge> out;
  for (const int source : {0, 1}) {
    out.push_back({{EdgeKind::small, 0}, {16, 4096}, source, {}, {}, 60});
    out.push_back({{EdgeKind::bulk, 0}, {4, 128 << 10}, source, {}, {}, 12});
    out.push_back({{EdgeKind::bulk, 7}, {2, 10'000}, source, {}, {}, 30});
    out.push_back({{EdgeKind::token, 0}, {16, 0}, source, {}, {}, 100});
    out.push_back({{EdgeKind::point_to_point, 0xffff}, {3, 33}, source, {}, {}, 40});
  }
  return out;
}

TEST_P(Links, a_fifo_is_there_once_the_reader_has_opened_it) {
  LinkPair pair = GetParam().make(1);
  const EdgeKey key{EdgeKind::small, 5};
  EXPECT_FALSE(value(pair.ends[0]->outgoing(key, {4, 64})));
  TestEdge edge = opened(pair, 0, {4, 64}, key);
  edge.messages = 1;
  edge.put();
  until(
      pair, [&] { return edge.reader.ready(); }, "first message");
  edge.take();
}

TEST_P(Links, every_edge_keeps_order_and_content_under_any_interleaving) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    LinkPair pair = GetParam().make(seed);
    std::vector<TestEdge> edges = several_edges();
    for (TestEdge& edge : edges) open(pair, edge);
    const Nanos deadline = deadline_in(60_s);
    for (std::size_t left = edges.size(); left > 0 && !HasFatalFailure();) {
      ASSERT_LT(now_ns(), deadline);
      if (rng() % 3 == 0) value(pair.ends[rng() % 2]->turn());
      TestEdge& edge = edges[rng() % edges.size()];
      if (edge.done()) continue;
      if (rng() % 2 == 0 && edge.writer.step() < edge.messages && edge.writer.can_send())
        edge.put();
      if (rng() % 2 == 0 && edge.reader.ready()) {
        edge.take();
        left -= edge.done();
      }
    }
    for (auto& end : pair.ends)
      until(
          pair, [&] { return end->flushed(); }, "flush");
  }
}

TEST_P(Links, each_end_in_a_thread_of_its_own) {
  LinkPair pair = GetParam().make(3);
  std::vector<TestEdge> edges = several_edges();
  for (TestEdge& edge : edges) open(pair, edge);
  // A thread touches the writers of its own end and the readers of edges from the other.
  auto live = [&](int me) {
    const Nanos deadline = deadline_in(60_s);
    for (bool over = false; !over;) {
      ASSERT_LT(now_ns(), deadline);
      over = pair.ends[me]->flushed();
      for (TestEdge& edge : edges) {
        const bool writing = edge.source == me;
        const std::uint64_t step = writing ? edge.writer.step() : edge.reader.step();
        if (step == edge.messages) continue;
        over = false;
        if (writing && edge.writer.can_send()) edge.put();
        if (!writing && edge.reader.ready()) edge.take();
      }
      if (!value(pair.ends[me]->turn())) std::this_thread::yield();
    }
  };
  std::thread other([&] { live(1); });
  live(0);
  other.join();
  for (const TestEdge& edge : edges) EXPECT_EQ(edge.reader.step(), edge.messages);
}

TEST_P(Links, a_writer_gets_as_far_as_its_slots_and_no_further) {
  LinkPair pair = GetParam().make(4);
  for (const std::uint32_t slots : {1u, 2u, 5u}) {
    TestEdge edge =
        opened(pair, 0, {slots, 100}, {EdgeKind::bulk, static_cast<std::uint16_t>(slots)});
    for (int round = 0; round < 3; ++round) {
      until(
          pair, [&] { return edge.writer.can_send(); }, "a credit");
      for (int i = 0; i < 50; ++i) {
        while (edge.writer.can_send()) edge.put();
        for (auto& end : pair.ends) value(end->turn());
        EXPECT_LE(edge.writer.step() - edge.reader.step(), slots);
      }
      const std::uint64_t sent = edge.writer.step();
      if (round == 0) {
        EXPECT_EQ(sent, slots);
      }
      while (edge.reader.step() < sent) {
        until(
            pair, [&] { return edge.reader.ready(); }, "what was sent");
        edge.take();
      }
    }
  }
}

TEST_P(Links, a_reader_who_sleeps_holds_up_nobody_else) {
  LinkPair pair = GetParam().make(5);
  TestEdge stuck = opened(pair, 0, {4, 128 << 10}, {EdgeKind::bulk, 0});
  TestEdge free = opened(pair, 0, {2, 1000}, {EdgeKind::bulk, 1});
  while (stuck.writer.can_send()) stuck.put();
  for (int i = 0; i < 200; ++i) {
    until(
        pair, [&] { return free.writer.can_send(); }, "a credit past the stuck edge");
    free.put();
    until(
        pair, [&] { return free.reader.ready(); }, "a message past the stuck edge");
    ASSERT_NO_FATAL_FAILURE(free.take());
  }
  for (std::uint64_t i = 0; i < 4; ++i) {
    until(
        pair, [&] { return stuck.reader.ready(); }, "the stuck edge's messages");
    ASSERT_NO_FATAL_FAILURE(stuck.take());
  }
}

TEST_P(Links, every_length_arrives_from_nothing_to_a_full_slot) {
  LinkPair pair = GetParam().make(6);
  constexpr std::uint32_t kSlot = 300'000;
  TestEdge edge = opened(pair, 1, {2, kSlot});
  for (const std::size_t bytes : {0u, 1u, 31u, 32u, 33u, 64u, 4095u, 4097u, 65'536u, kSlot}) {
    until(
        pair, [&] { return edge.writer.can_send(); }, "a credit");
    std::memset(edge.writer.payload(bytes), static_cast<int>(bytes % 251), bytes);
    edge.writer.commit({bytes, 1}, bytes);
    until(
        pair, [&] { return edge.reader.ready(); }, "a message");
    ASSERT_EQ(edge.reader.header().bytes, bytes);
    ASSERT_EQ(edge.reader.header().call.what, bytes);
    const std::byte* payload = edge.reader.payload(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      ASSERT_EQ(payload[i], static_cast<std::byte>(bytes % 251)) << i << " of " << bytes;
    edge.reader.release();
  }
}

TEST_P(Links, an_idle_link_comes_to_rest_and_has_no_news) {
  LinkPair pair = GetParam().make(7);
  TestEdge edge = opened(pair, 0, {2, 64});
  int quiet = 0;  // turns in a row that moved nothing
  until(
      pair,
      [&] {
        for (auto& end : pair.ends) quiet = value(end->turn()) ? 0 : quiet + 1;
        return quiet >= 200;
      },
      "rest");
  for (int end = 0; end < 2; ++end) {
    EXPECT_TRUE(pair.ends[end]->flushed());
    const PeerNews news = value(pair.news(end));
    EXPECT_FALSE(news.left);
    EXPECT_FALSE(news.farewell);
  }
  EXPECT_FALSE(edge.reader.ready());
}

}  // namespace
}  // namespace gyre
