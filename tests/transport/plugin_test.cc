// Loading plug-ins and meeting over one. What a link over a plug-in promises is the link tests'
// matter.
#include "transport/plugin.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/clock.h"

namespace gyre {
namespace {

void expect_refused(Result<const PluginTable*> found, const std::string& part) {
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::invalid_usage);
  EXPECT_NE(found.error().text.find(part), std::string::npos) << found.error().text;
}

const PluginTable* example() {
  auto found = load_plugin(GYRE_EXAMPLE_PLUGIN);
  GYRE_CHECK(found);
  return *found;
}

TEST(Plugin, is_loaded_once_and_tells_its_name) {
  EXPECT_STREQ(example()->name, "example");
  EXPECT_EQ(example(), example());
}

TEST(Plugin, what_cannot_be_loaded_is_refused_with_the_reason) {
  expect_refused(load_plugin("/nowhere/libplug.so"), "/nowhere/libplug.so");
  expect_refused(load_plugin("libm.so.6"), "gyreTransportPlugin_v1");
  expect_refused(load_plugin(GYRE_SMALL_PLUGIN), "smaller");
  expect_refused(find_plugin("nosuch"), "'nosuch' is none of auto, shm, tcp");
  expect_refused(find_plugin("nosuch"), "libgyre-transport-nosuch.so");
}

TEST(Plugin, the_trees_own_transports_need_none) {
  for (const char* name : {"auto", "shm", "tcp"}) {
    auto found = find_plugin(name);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, nullptr);
  }
}

// Two ends on one control connection. The first is the answerer.
class Meeting : public testing::Test {
 protected:
  Meeting() {
    int fds[2];
    GYRE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    for (int end = 0; end < 2; ++end) control[end] = Fd(fds[end]);
    key[0] = 42;
  }
  PluginCall call(int end) const {
    return {.plugin = example(),
            .peer = 1 - end,
            .control = control[end].get(),
            .session_key = key,
            .answerer = end == 0};
  }
  // Turns both until they are done or one fails.
  static Status meet(PluginMeeting& a, PluginMeeting& b) {
    const Nanos deadline = deadline_in(20'000'000'000);
    for (;;) {
      const bool done_a = GYRE_TRY(a.step());
      const bool done_b = GYRE_TRY(b.step());
      if (done_a && done_b) return {};
      if (now_ns() > deadline) return error(Code::timeout, "they never met");
    }
  }
  // Carries out a call as a stranger who has seen the card: `bytes` instead of the proof.
  void* dial_as_stranger(const std::string& card, const std::string& bytes) {
    void* connection = nullptr;
    EXPECT_EQ(example()->dial(card.data(), card.size(), &connection), gyreTransportDone);
    const gyreTransportPart_t part{bytes.data(), bytes.size()};
    std::size_t posted = 0;
    EXPECT_EQ(example()->post(connection, &part, 1, &posted), gyreTransportDone);
    return connection;
  }
  // The card that the answerer has sent, left in the control socket.
  std::string seen_card() {
    char offer[40 + GYRE_TRANSPORT_CARD_BYTES];
    EXPECT_EQ(::recv(control[1].get(), offer, sizeof offer, MSG_PEEK),
              static_cast<ssize_t>(sizeof offer));
    std::uint32_t bytes;
    std::memcpy(&bytes, offer + 4, sizeof bytes);
    return {offer + 40, bytes};
  }

  Fd control[2];
  Key key{};
};

TEST_F(Meeting, ends_with_a_wire_that_carries_bytes_both_ways) {
  PluginMeeting a(call(0)), b(call(1));
  ASSERT_TRUE(meet(a, b));
  ASSERT_FALSE(a.declined());
  auto near = a.take_wire(std::move(control[0])), far = b.take_wire(std::move(control[1]));
  std::string first = "over ", second = "the fence", got(14, '?');
  const iovec out[] = {{first.data(), first.size()}, {second.data(), second.size()}};
  const iovec in[] = {{got.data(), 3}, {got.data() + 3, 11}};
  for (Wire* from : {near.get(), far.get()}) {
    Wire* to = from == near.get() ? far.get() : near.get();
    EXPECT_EQ(to->receive(in).bytes, 0u);
    EXPECT_EQ(from->send(out).bytes, 14u);
    EXPECT_EQ(to->receive(in).bytes, 14u);
    EXPECT_EQ(got, "over the fence");
  }
}

TEST_F(Meeting, a_score_that_is_too_low_leaves_the_socket_to_others) {
  PluginCall dialer = call(1);
  dialer.score_to_beat = 1'000'000;
  PluginMeeting a(call(0)), b(dialer);
  ASSERT_TRUE(meet(a, b));
  EXPECT_TRUE(a.declined());
  EXPECT_TRUE(b.declined());
  for (const Fd& end : control) {
    char byte;
    EXPECT_EQ(::recv(end.get(), &byte, 1, MSG_DONTWAIT), -1) << "bytes are left on the socket";
  }
}

TEST_F(Meeting, a_stranger_who_calls_first_is_sent_away) {
  PluginMeeting a(call(0)), b(call(1));
  ASSERT_TRUE(a.step());
  const std::string card = seen_card();
  void* silly = dial_as_stranger(card, std::string(32, 'x'));
  void* brief = dial_as_stranger(card, "hi");
  example()->close(brief);
  ASSERT_TRUE(meet(a, b));
  char byte;
  std::size_t bytes = 0;
  EXPECT_EQ(example()->poll(silly, &byte, 1, &bytes), gyreTransportClosed)
      << "a stranger must learn nothing";
  example()->close(silly);
}

TEST_F(Meeting, an_answerer_without_the_key_is_not_believed) {
  PluginCall dialer = call(1);
  dialer.session_key[1] = 1;
  PluginMeeting a(call(0)), b(dialer);
  const Status status = meet(a, b);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::remote);
}

TEST_F(Meeting, a_peer_that_goes_away_ends_it_by_name) {
  PluginMeeting b(call(1));
  ASSERT_TRUE(b.step());
  control[0].reset();
  auto stepped = b.step();
  ASSERT_FALSE(stepped);
  EXPECT_EQ(stepped.error().code, Code::remote);
  EXPECT_EQ(stepped.error().rank, 0);
}

TEST_F(Meeting, a_broken_card_is_refused) {
  std::vector<char> noise(40 + GYRE_TRANSPORT_CARD_BYTES, 'z');
  ASSERT_EQ(::send(control[0].get(), noise.data(), noise.size(), 0),
            static_cast<ssize_t>(noise.size()));
  PluginMeeting b(call(1));
  auto stepped = b.step();
  ASSERT_FALSE(stepped);
  EXPECT_EQ(stepped.error().rank, 0);
}

TEST_F(Meeting, a_lone_end_stops_at_its_deadline_or_when_told) {
  std::vector<PluginMeeting> one;
  one.emplace_back(call(0));
  Status status = meet_over_plugin(one, now_ns() + 5'000'000, false);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::timeout);
  EXPECT_EQ(status.error().rank, 1);
  status = meet_over_plugin(one, kNever, true);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::aborted);
}

// A plug-in need not notice deaths: the control socket does.
TEST_F(Meeting, the_end_of_the_control_socket_is_a_death) {
  PluginMeeting a(call(0)), b(call(1));
  ASSERT_TRUE(meet(a, b));
  auto near = a.take_wire(std::move(control[0]));
  EXPECT_TRUE(near->probe());
  control[1].reset();
  const Nanos deadline = deadline_in(20'000'000'000);
  while (near->probe()) ASSERT_LT(now_ns(), deadline);
}

}  // namespace
}  // namespace gyre
