// What every link tells of its peer, whatever carries it: farewells, good-byes, death.
#include <gtest/gtest.h>
#include <poll.h>

#include "transport/link_edge.h"

namespace gyre {
namespace {

class LinkNews : public LinkFixture {};
INSTANTIATE_TEST_SUITE_P(All, LinkNews, testing::ValuesIn(link_makers()), maker_name);

TEST_P(LinkNews, slots_that_differ_are_refused_with_both_shapes) {
  LinkPair pair = GetParam().make(8);
  const EdgeKey key{EdgeKind::bulk, 1};
  value(pair.ends[1]->incoming(key, {4, 4096}));
  Error seen;
  const Nanos deadline = deadline_in(20_s);
  for (;;) {
    auto writer = pair.ends[0]->outgoing(key, {8, 4096});
    if (!writer) {
      seen = writer.take_error();
      break;
    }
    ASSERT_FALSE(*writer);
    (void)pair.ends[1]->turn();
    ASSERT_LT(now_ns(), deadline);
  }
  EXPECT_EQ(seen.code, Code::invalid_usage);
  for (const char* part : {"8 of 4096", "4 of 4096", "GYRE_SLOTS"})
    EXPECT_NE(seen.text.find(part), std::string::npos) << seen.text;
}

TEST_P(LinkNews, a_farewell_arrives_whole_and_after_what_was_sent_before_it) {
  LinkPair pair = GetParam().make(9);
  TestEdge edge = opened(pair, 0, {2, 50'000});
  edge.put();
  until(
      pair, [&] { return pair.ends[0]->flushed(); }, "flush");
  pair.ends[0]->leave({Code::timeout, 7, "rank 7 is late"});
  until(
      pair,
      [&] {
        auto news = pair.news(1);
        return news && news->farewell;
      },
      "the farewell");
  const PeerNews news = value(pair.news(1));
  EXPECT_EQ(news.farewell->code, Code::timeout);
  EXPECT_EQ(news.farewell->culprit, 7);
  EXPECT_EQ(news.farewell->text, "rank 7 is late");
  until(
      pair, [&] { return edge.reader.ready(); }, "what was sent before the farewell");
  edge.take();
}

TEST_P(LinkNews, a_farewell_of_any_length_does_no_harm) {
  LinkPair pair = GetParam().make(10);
  pair.ends[0]->leave({Code::remote, -1, std::string(100'000, 'y')});
  until(
      pair,
      [&] {
        auto news = pair.news(1);
        return news && news->farewell;
      },
      "the farewell");
  const PeerNews news = value(pair.news(1));
  EXPECT_EQ(news.farewell->culprit, -1);
  EXPECT_EQ(news.farewell->text.find_first_not_of('y'), std::string::npos);
  EXPECT_GT(news.farewell->text.size(), 100u);
}

TEST_P(LinkNews, a_peer_that_leaves_in_order_is_known_to_have_left) {
  LinkPair pair = GetParam().make(11);
  TestEdge edge = opened(pair, 0, {2, 5000});
  edge.put();
  until(
      pair, [&] { return pair.ends[0]->flushed(); }, "flush");
  pair.leave(0);
  until(
      pair,
      [&] {
        auto news = pair.news(1);
        return news && news->left;
      },
      "the good-bye");
  until(
      pair, [&] { return edge.reader.ready(); }, "what was sent before the good-bye");
  edge.take();
  std::vector<pollfd> waits;
  pair.ends[1]->watch(waits);
  EXPECT_TRUE(waits.empty()) << "a waiter would spin on the closed socket";
}

// The credits that this end still owes have nowhere to go, which is no failure.
TEST_P(LinkNews, a_peer_that_has_left_does_not_disturb_who_still_works) {
  LinkPair pair = GetParam().make(12);
  TestEdge edge = opened(pair, 0, {4, 100});
  for (int i = 0; i < 4; ++i) edge.put();
  until(
      pair, [&] { return pair.ends[0]->flushed(); }, "flush");
  pair.leave(0);
  for (int i = 0; i < 4; ++i) {
    until(
        pair, [&] { return edge.reader.ready(); }, "what was sent before the good-bye");
    edge.take();
    for (int turn = 0; turn < 3; ++turn) {
      auto turned = pair.ends[1]->turn();
      EXPECT_TRUE(turned) << turned.error().text;
    }
  }
  EXPECT_TRUE(pair.ends[1]->flushed());
}

TEST_P(LinkNews, a_peer_that_dies_is_named) {
  LinkPair pair = GetParam().make(13);
  TestEdge edge = opened(pair, 1, {2, 5000});
  edge.put();
  until(
      pair, [&] { return pair.ends[1]->flushed() && edge.reader.ready(); }, "a message");
  pair.kill(1);
  Error seen;
  const Nanos deadline = deadline_in(20_s);
  for (;;) {
    auto turned = pair.ends[0]->turn();
    if (!turned) {
      seen = turned.take_error();
      break;
    }
    auto news = pair.news(0);
    if (!news) {
      seen = news.take_error();
      break;
    }
    EXPECT_FALSE(news->left);
    ASSERT_LT(now_ns(), deadline) << "nobody noticed";
  }
  EXPECT_EQ(seen.code, Code::remote);
  EXPECT_EQ(seen.rank, 1);
  EXPECT_NE(seen.text.find("rank 1"), std::string::npos) << seen.text;
  edge.take();
}

// The sender fails first, yet the farewell that explains it lies in the socket, unread.
TEST_P(LinkNews, last_words_are_heard_even_if_the_link_breaks_at_once) {
  LinkPair pair = GetParam().make(14);
  TestEdge edge = opened(pair, 0, {4, 50'000});
  pair.ends[1]->leave({Code::remote, 5, "rank 5 is gone"});
  while (!pair.ends[1]->flushed()) (void)pair.ends[1]->turn();
  pair.kill(1);
  edge.put();
  const Nanos deadline = deadline_in(20_s);
  for (;;) {
    (void)pair.ends[0]->turn();
    auto news = pair.news(0);
    ASSERT_TRUE(news) << news.error().text;
    ASSERT_LT(now_ns(), deadline);
    if (!news->farewell) continue;
    EXPECT_EQ(news->farewell->culprit, 5);
    break;
  }
}

TEST_P(LinkNews, what_it_watches_wakes_when_the_peer_sends_or_dies) {
  LinkPair pair = GetParam().make(15);
  TestEdge edge = opened(pair, 1, {2, 100});
  auto wakes = [&](int limit_ms) {
    std::vector<pollfd> waits;
    pair.ends[0]->watch(waits);
    EXPECT_FALSE(waits.empty());
    return ::poll(waits.data(), waits.size(), limit_ms) > 0;
  };
  until(
      pair, [&] { return !wakes(0); }, "rest: an idle link keeps its waiter awake");
  if (!pair.ends[0]->bell()) {
    edge.put();
    until(
        pair,
        [&] {
          (void)pair.ends[1]->turn();
          return edge.reader.ready() || wakes(0);
        },
        "a message to wait for");
  }
  pair.kill(1);
  EXPECT_TRUE(wakes(10'000));
}

}  // namespace
}  // namespace gyre
