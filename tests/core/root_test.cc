#include "core/root.h"

#include "core/join_ranks.h"
#include "core/root_call.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <functional>
#include <string_view>
#include <thread>

namespace gyre {
namespace {

Until within(Nanos span) { return {deadline_in(span)}; }

// A root on a port of its own, found like a launcher's fixed one.
std::unique_ptr<Root> root_on_loopback(std::uint16_t port = 0) {
  RootOptions options;
  options.secret = random_secret();
  options.addresses = {Address::v4({127, 0, 0, 1}, port)};
  auto root = Root::start(options);
  EXPECT_TRUE(root) << root.error().text;
  return *std::move(root);
}

Status join(const JobId& id, int rank, int size, Nanos limit = 20_s) {
  GYRE_TRY(Bootstrap::join(options_for({id}, rank, size, limit)));
  return {};
}

TEST(Root, ten_jobs_follow_each_other_on_one_port) {
  const std::uint16_t port = root_on_loopback()->id().roots[0].port();
  for (int job = 0; job < 10; ++job) {
    const auto root = root_on_loopback(port);
    ASSERT_TRUE(root);
    for (const Status& end : as_ranks(3, [&](int rank) { return join(root->id(), rank, 3); }))
      ASSERT_TRUE(end) << "job " << job << ": " << text_of(end);
  }
}

TEST(Root, taken_port_is_named_and_the_others_cannot_reach_the_root) {
  Listener dummy = *Listener::open(Address::v4({127, 0, 0, 1}, 0));
  RootOptions options;
  options.secret = random_secret();
  options.addresses = {dummy.local()};
  const auto root = Root::start(options);
  ASSERT_FALSE(root);
  EXPECT_NE(root.error().text.find(dummy.local().text() + ": Address already in use"),
            std::string::npos)
      << root.error().text;
  JobId id;
  id.secret = options.secret;
  id.roots = options.addresses;
  const Status other = join(id, 1, 2, 300_ms);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::timeout);
  EXPECT_NE(other.error().text.find("root not reachable at " + dummy.local().text()),
            std::string::npos);
}

TEST(Root, two_processes_of_one_rank_are_told_so_all_of_them) {
  const auto root = root_on_loopback();
  const int ranks[] = {0, 1, 1};
  for (const Status& end : as_ranks(3, [&](int i) { return join(root->id(), ranks[i], 3); })) {
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, Code::invalid_usage);
    EXPECT_NE(end.error().text.find("two processes say they are rank 1"), std::string::npos)
        << text_of(end);
  }
}

TEST(Root, different_sizes_are_told_to_all_also_to_those_who_come_later) {
  const auto root = root_on_loopback();
  const auto ends = as_ranks(2, [&](int rank) { return join(root->id(), rank, 3 + rank); });
  for (const Status& end : ends)
    EXPECT_NE(text_of(end).find("ranks disagree on the job's size"), std::string::npos)
        << text_of(end);
  const Status late = join(root->id(), 2, 3);
  EXPECT_NE(text_of(late).find("ranks disagree on the job's size"), std::string::npos)
      << text_of(late);
}

TEST(Root, different_versions_are_told_to_all_with_host_and_number) {
  const auto root = root_on_loopback();
  for (const Status& end : as_ranks(3, [&](int rank) -> Status {
         JoinOptions options = options_for({root->id()}, rank, 3);
         if (rank == 2) options.protocol = 7;
         GYRE_TRY(Bootstrap::join(options));
         return {};
       })) {
    ASSERT_FALSE(end);
    EXPECT_NE(end.error().text.find("protocol 7"), std::string::npos) << text_of(end);
    EXPECT_NE(end.error().text.find("protocol 1"), std::string::npos) << text_of(end);
  }
}

TEST(Root, missing_ranks_are_named_to_those_who_wait) {
  const auto root = root_on_loopback();
  for (const Status& end :
       as_ranks(3, [&](int i) { return join(root->id(), i == 2 ? 5 : i, 8, 500_ms); })) {
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, Code::timeout);
    EXPECT_NE(end.error().text.find("only 3 of 8 ranks have come; missing: rank 2-4, 6-7"),
              std::string::npos)
        << text_of(end);
  }
}

TEST(Root, a_rank_that_leaves_early_fails_the_others_at_once) {
  const auto root = root_on_loopback();
  {
    auto leaver = RootCall::open(root->id(), {.purpose = Purpose::join}, within(10_s));
    ASSERT_TRUE(leaver);
    Join early;
    early.rank = 1;
    early.size = 3;
    early.blocks = 1;
    early.card.tcp = root->id().roots[0].to_wire();
    ASSERT_TRUE(leaver->send_join(early, within(10_s)));
  }
  const Status end = join(root->id(), 0, 3, 0);  // rank 2 never comes, and no deadline does
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Code::remote);
  EXPECT_EQ(end.error().rank, 1);
  EXPECT_NE(text_of(end).find("failed while the ranks met: its connection closed"),
            std::string::npos);
}

// A rank by hand: joins, learns its parent, and then ends by `end`.
Result<Answer> join_by_hand(const JobId& id, const std::function<void(RootCall&)>& end) {
  auto call = GYRE_TRY(RootCall::open(id, {.purpose = Purpose::join}, within(10_s)));
  const auto door = GYRE_TRY(Doorway::open(id.key(), Address::v4({127, 0, 0, 1}, 0)));
  Join mine;
  mine.rank = 1;
  mine.size = 3;
  mine.blocks = 1;
  mine.patience_ns = kNever;
  mine.protocol = kProtocolVersion;
  mine.card = door->card();
  GYRE_TRY(call.send_join(mine, within(10_s)));
  Answer answer = GYRE_TRY(call.recv_answer(within(10_s)));
  end(call);
  return answer;
}

TEST(Root, a_rank_that_fails_while_the_tree_is_built_is_named_with_its_reason) {
  struct Case {
    std::function<void(RootCall&)> end;
    const char* reason;
  };
  const Case cases[] = {
      {[](RootCall&) {}, "its connection closed"},
      {[](RootCall& call) { call.send_failure(error(Code::system, "no memory left")); },
       "no memory left"}};
  for (const Case& one : cases) {
    const auto root = root_on_loopback();
    std::atomic<bool> told{false};
    const auto ends = as_ranks(3, [&](int rank) -> Status {
      if (rank != 1)
        return join(root->id(), rank, 3, 0);  // no deadline: the news alone must end it
      const Answer answer = GYRE_TRY(join_by_hand(root->id(), one.end));
      told = answer.parent_rank == 0;
      return {};
    });
    EXPECT_TRUE(told);
    for (const int rank : {0, 2}) {
      const Status& status = ends[static_cast<std::size_t>(rank)];
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().rank, 1);
      EXPECT_NE(text_of(status).find(std::string("failed while the ranks met: ") + one.reason),
                std::string::npos)
          << text_of(status);
    }
  }
}

// Connects and sends; true when the root closes the connection before the deadline.
bool is_dropped(const Address& root, std::string_view bytes) {
  auto socket = Socket::connect(root, within(5_s));
  if (!socket ||
      !socket->send_all(std::as_bytes(std::span(bytes.data(), bytes.size())), within(5_s)))
    return false;
  std::byte sink[256];
  for (;;) {
    if (!wait_ready(socket->fd(), POLLIN, within(10_s), "drop")) return false;
    if (!socket->recv_some(sink)) return true;
  }
}

TEST(Root, strangers_are_dropped_and_the_job_goes_on) {
  const auto root = root_on_loopback();
  const std::string_view sayings[] = {"",
                                      "GET / HTTP/1.1\r\n\r\n",
                                      "gyre",
                                      {"\xff\xff\xff\x7f\x00\x00\x00\x80", 8},
                                      {"gyre\x01\0\0\0", 8}};
  std::atomic<int> dropped{0};
  std::vector<std::thread> strangers;
  for (const auto& bytes : sayings)
    strangers.emplace_back([&, bytes] { dropped += is_dropped(root->id().roots[0], bytes); });
  for (auto& stranger : strangers) stranger.join();
  EXPECT_EQ(dropped.load(), 5);
  for (const Status& end : as_ranks(4, [&](int rank) { return join(root->id(), rank, 4); }))
    EXPECT_TRUE(end) << text_of(end);
}

TEST(Root, strangers_that_stay_do_not_delay_a_job) {
  const auto root = root_on_loopback();
  std::vector<Socket> strangers;
  for (int i = 0; i < 100; ++i) {
    auto one = Socket::connect(root->id().roots[0], within(5_s));
    ASSERT_TRUE(one) << one.error().text;
    strangers.push_back(*std::move(one));
  }
  for (const Status& end : as_ranks(4, [&](int rank) { return join(root->id(), rank, 4); }))
    EXPECT_TRUE(end) << text_of(end);
}

TEST(Root, two_jobs_on_one_host_never_mix) {
  const auto one = root_on_loopback(), two = root_on_loopback();
  // A rank with the first job's secret that is sent to the second job's port.
  JobId crossed = one->id();
  crossed.roots = two->id().roots;
  const Status lost = join(crossed, 0, 2, 300_ms);
  ASSERT_FALSE(lost);
  EXPECT_NE(lost.error().text.find("another job"), std::string::npos) << text_of(lost);
  for (const auto* root : {&one, &two})
    for (const Status& end : as_ranks(2, [&](int rank) { return join((*root)->id(), rank, 2); }))
      EXPECT_TRUE(end) << text_of(end);
}

TEST(Root, stopping_it_ends_the_wait_of_its_ranks) {
  auto root = root_on_loopback();
  const JobId id = root->id();
  auto waiting = RootCall::open(id, {.purpose = Purpose::join}, within(10_s));
  ASSERT_TRUE(waiting);
  root.reset();
  const auto answer = waiting->recv_answer(within(10_s));
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().text.find("its process is gone"), std::string::npos)
      << answer.error().text;
}

}  // namespace
}  // namespace gyre
