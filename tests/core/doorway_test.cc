#include "core/doorway.h"

#include "core/dialer.h"
#include "core/join_ranks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

namespace gyre {
namespace {

TEST(Doorway, ranks_connect_all_to_all_after_exchanging_cards) {
  constexpr int kSize = 6;
  const auto id = start_job();
  ASSERT_TRUE(id);
  const std::atomic<bool> never{false};
  const auto ends = as_ranks(kSize, [&](int rank) -> Status {
    Bootstrap boot = GYRE_TRY(Bootstrap::join(options_for({*id}, rank, kSize)));
    const auto cards =
        GYRE_TRY(boot.all_gather("cards", std::as_bytes(std::span(&boot.doorway()->card(), 1))));
    std::vector<Peer> peers;
    for (int other = 0; other < kSize; ++other)
      if (other != rank)
        peers.push_back({other, GYRE_TRY(unpack_card(cards[static_cast<std::size_t>(other)]))});
    const Call call{.comm = 7, .rank = rank};
    auto links = GYRE_TRY(boot.doorway()->connect(call, peers, deadline_in(20_s), never));
    const Until until{deadline_in(20_s)};
    for (auto& link : links)
      GYRE_TRY(link.socket.send_all(std::as_bytes(std::span(&rank, 1)), until));
    for (auto& link : links) {
      int heard = -1;
      GYRE_TRY(link.socket.recv_all(std::as_writable_bytes(std::span(&heard, 1)), until));
      if (heard != link.rank || !link.socket.is_unix())
        return error(Code::internal, "rank {} heard {} on the link to {}", rank, heard, link.rank);
    }
    return {};
  });
  for (const Status& end : ends) EXPECT_TRUE(end) << text_of(end);
}

const std::atomic<bool> kRunning{false};

Key some_key() { return derive_key(random_secret(), "doorway test"); }

std::shared_ptr<Doorway> door_on_loopback(const Key& key) {
  auto door = Doorway::open(key, Address::v4({127, 0, 0, 1}, 0));
  EXPECT_TRUE(door) << door.error().text;
  return *door;
}

// Rank 1 dials rank 0.
struct Two {
  Key key = some_key();
  std::shared_ptr<Doorway> zero = door_on_loopback(key), one = door_on_loopback(key);
  std::vector<Peer> peer_of_zero{{1, one->card()}}, peer_of_one{{0, zero->card()}};

  Result<std::vector<Connection>> from_zero(Call call, Nanos limit = 20_s) {
    call.rank = 0;
    return zero->connect(call, peer_of_zero, deadline_in(limit), kRunning);
  }
  Result<std::vector<Connection>> from_one(Call call, Nanos limit = 20_s) {
    call.rank = 1;
    return one->connect(call, peer_of_one, deadline_in(limit), kRunning);
  }
};

// Sends a byte from the second to the first.
void expect_joined(Result<std::vector<Connection>>& a, Result<std::vector<Connection>>& b) {
  ASSERT_TRUE(a) << a.error().text;
  ASSERT_TRUE(b) << b.error().text;
  EXPECT_EQ((*a)[0].session_key, (*b)[0].session_key);
  std::byte sent{77}, got{};
  const Until until{deadline_in(10_s)};
  ASSERT_TRUE((*b)[0].socket.send_all({&sent, 1}, until));
  ASSERT_TRUE((*a)[0].socket.recv_all({&got, 1}, until));
  EXPECT_EQ(sent, got);
}

TEST(Doorway, callers_for_another_communicator_wait_until_they_are_asked_for) {
  Two two;
  // One thread dials for comm 2, then 1; the other answers 1, then 2: 2 must be kept meanwhile.
  std::vector<Result<std::vector<Connection>>> dialed;
  std::thread dialer([&] {
    for (const std::uint64_t comm : {2u, 1u}) dialed.push_back(two.from_one({.comm = comm}));
  });
  auto first = two.from_zero({.comm = 1});
  auto second = two.from_zero({.comm = 2});
  dialer.join();
  ASSERT_EQ(dialed.size(), 2u);
  expect_joined(second, dialed[0]);
  expect_joined(first, dialed[1]);
}

TEST(Doorway, threads_that_connect_at_once_get_their_own_connections) {
  Two two;
  constexpr int kComms = 12;
  std::vector<std::optional<Result<std::vector<Connection>>>> a(kComms), b(kComms);
  std::vector<std::thread> threads;
  for (int comm = 0; comm < kComms; ++comm) {
    const auto at = static_cast<std::size_t>(comm);
    const Call call{.comm = static_cast<std::uint64_t>(comm), .lane = 3};
    threads.emplace_back([&, at, call] { a[at].emplace(two.from_zero(call)); });
    threads.emplace_back([&, at, call] { b[at].emplace(two.from_one(call)); });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t comm = 0; comm < kComms; ++comm) expect_joined(*a[comm], *b[comm]);
}

TEST(Doorway, tcp_only_uses_no_unix_socket) {
  Two two;
  Result<std::vector<Connection>> dialed = error(Code::internal, "not called");
  std::thread dialer([&] { dialed = two.from_one({.comm = 1, .tcp_only = true}); });
  auto answered = two.from_zero({.comm = 1, .tcp_only = true});
  dialer.join();
  expect_joined(answered, dialed);
  EXPECT_FALSE((*answered)[0].socket.is_unix());
  EXPECT_FALSE((*dialed)[0].socket.is_unix());
}

// A container with a network namespace of its own sees no abstract name of the other.
TEST(Doorway, unreachable_unix_socket_falls_back_to_tcp) {
  Two two;
  const Address nobody = Address::abstract_unix("gyre-test-nobody-listens-here");
  const Hello mine{.rank = 1, .comm = 1};
  Dialer dialer({nobody, *Address::from_wire(two.zero->card().tcp)}, two.key, mine,
                two.zero->card().token);
  Result<std::vector<Connection>> answered = error(Code::internal, "not called");
  std::thread zero([&] { answered = two.from_zero({.comm = 1}); });
  while (!dialer.step()) {
    pollfd entry = dialer.poll_entry();
    ::poll(&entry, 1, 1);
  }
  zero.join();
  ASSERT_TRUE(answered) << answered.error().text;
  EXPECT_FALSE(dialer.take().socket.is_unix());
}

TEST(Doorway, another_process_on_a_reused_port_is_not_taken_for_the_peer) {
  Two two;
  PeerCard stale = two.zero->card();
  stale.has_unix = 0;
  stale.token[0] ^= 1;
  two.peer_of_one[0].card = stale;
  std::thread zero([&] { (void)two.from_zero({.comm = 1}, 200_ms); });
  const auto dialed = two.from_one({.comm = 1}, 200_ms);
  zero.join();
  ASSERT_FALSE(dialed);
  EXPECT_NE(dialed.error().text.find("another process of this job"), std::string::npos)
      << dialed.error().text;
}

TEST(Doorway, silent_peer_is_named_with_its_address) {
  Two two;
  auto answered = two.from_zero({.comm = 1}, 50_ms);
  ASSERT_FALSE(answered);
  EXPECT_EQ(answered.error().code, Code::timeout);
  EXPECT_EQ(answered.error().rank, 1);
  EXPECT_NE(answered.error().text.find("rank 1 (host "), std::string::npos)
      << answered.error().text;
  const auto address = Address::from_wire(two.one->card().tcp)->text();
  EXPECT_NE(answered.error().text.find(address + ") did not connect in time"), std::string::npos);
}

TEST(Doorway, a_door_that_is_gone_is_an_error_before_any_deadline) {
  Two two;
  two.zero.reset();
  const auto dialed = two.from_one({.comm = 1}, 0);
  ASSERT_FALSE(dialed);
  EXPECT_EQ(dialed.error().code, Code::remote);
  EXPECT_EQ(dialed.error().rank, 0);
  EXPECT_NE(dialed.error().text.find("is gone: connect"), std::string::npos) << dialed.error().text;
  EXPECT_NE(dialed.error().text.find("Connection refused"), std::string::npos)
      << dialed.error().text;
}

TEST(Doorway, abort_word_ends_dialing_and_answering) {
  Two two;
  for (const bool dial : {false, true}) {
    std::atomic<bool> abort{false}, calling{false};
    Code code = Code::ok;
    std::thread caller([&] {
      const Call call{.comm = 9, .rank = dial ? 1 : 0};
      calling = true;
      auto end = (dial ? two.one : two.zero)
                     ->connect(call, dial ? two.peer_of_one : two.peer_of_zero, kNever, abort);
      if (!end) code = end.error().code;
    });
    while (!calling) std::this_thread::yield();
    abort = true;
    caller.join();
    EXPECT_EQ(code, Code::aborted);
  }
}

TEST(Doorway, alarm_ends_the_call) {
  Two two;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd alarm(ends[0]), other(ends[1]);
  ASSERT_EQ(::write(other.get(), "!", 1), 1);
  const int alarms[] = {alarm.get()};
  Call call{.comm = 1};
  call.alarms = alarms;
  const auto end = two.from_zero(call, 0);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Code::remote);
}

TEST(Doorway, strangers_at_the_door_do_not_stop_a_connection) {
  Two two;
  const Address at = *Address::from_wire(two.zero->card().tcp);
  const Until until{deadline_in(10_s)};
  std::vector<Socket> strangers;
  for (int i = 0; i < 50; ++i) {
    strangers.push_back(*Socket::connect(at, until));
    const std::string bytes = i % 2 ? std::string("\xff\xff\xff\x7f\0\0\0\x80", 8) : std::string();
    ASSERT_TRUE(strangers.back().send_all(std::as_bytes(std::span(bytes)), until));
  }
  Result<std::vector<Connection>> dialed = error(Code::internal, "not called");
  std::thread dialer([&] { dialed = two.from_one({.comm = 1, .tcp_only = true}); });
  auto answered = two.from_zero({.comm = 1, .tcp_only = true});
  dialer.join();
  expect_joined(answered, dialed);
}

TEST(Doorway, caller_that_gave_up_half_way_is_not_handed_out) {
  Two two;
  { const auto gone = two.from_one({.comm = 1}, 1_ms); }
  Result<std::vector<Connection>> dialed = error(Code::internal, "not called");
  std::thread dialer([&] { dialed = two.from_one({.comm = 1}); });
  auto answered = two.from_zero({.comm = 1});
  dialer.join();
  expect_joined(answered, dialed);
}

TEST(Doorway, caller_that_closed_at_once_is_handed_out_as_ended) {
  Two two;
  std::thread dialer([&] { (void)two.from_one({.comm = 1}); });
  auto other = two.from_zero({.comm = 2}, 300_ms);  // takes the call for comm 1 and parks it
  dialer.join();
  EXPECT_FALSE(other);
  auto answered = two.from_zero({.comm = 1});
  ASSERT_TRUE(answered) << answered.error().text;
  std::byte one;
  EXPECT_EQ((*answered)[0].socket.recv_all({&one, 1}, {deadline_in(10_s)}).error().code,
            Code::remote);
}

TEST(Card, damaged_cards_are_refused_and_names_are_made_printable) {
  Two two;
  PeerCard card = two.zero->card();
  const auto unpack = [](const PeerCard& one) {
    return unpack_card(std::as_bytes(std::span(&one, 1)));
  };
  ASSERT_TRUE(unpack(card));
  EXPECT_TRUE(same_host(card, two.one->card()));
  card.hostname[0] = '\x1b';
  EXPECT_EQ(unpack(card)->hostname[0], '?');
  card.tcp.family = 9;
  EXPECT_FALSE(unpack(card));
  card = two.zero->card();
  card.hostname.fill('x');
  EXPECT_FALSE(unpack(card));
  EXPECT_FALSE(unpack_card({}));
}

}  // namespace
}  // namespace gyre
