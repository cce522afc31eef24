// How a communicator fails: what it waits for before the buffers of its call are the caller's
// again.
#include "core/communicator.h"

#include <gtest/gtest.h>

#include <future>

#include "core/join_ranks.h"

namespace gyre {
namespace {

// Two ranks of one process that have met.
class Pair : public testing::Test {
 protected:
  void SetUp() override {
    const auto id = start_job();
    ASSERT_TRUE(id) << id.error().text;
    for (const Status& end : as_ranks(2, [&](int rank) -> Status {
           auto& comm = ranks_[rank];
           comm = GYRE_TRY(Communicator::join({*id}, rank, 2, default_options(), never_));
           std::lock_guard lock(comm->mutex());
           return comm->run_one({.what = Collective::barrier});
         }))
      ASSERT_TRUE(end) << text_of(end);
  }
  Link& to(int peer) { return *ranks_[1 - peer]->mesh().link(peer); }
  std::future<Nanos> fail_first() {
    return std::async(std::launch::async, [this] {
      ranks_[0]->abandon(error(Code::aborted, "rank 0 aborted"));
      return now_ns();
    });
  }
  // Until rank 0 lends nothing any more.
  bool await_recall() {
    for (const Nanos deadline = deadline_in(20_s); now_ns() < deadline; std::this_thread::yield()) {
      if (!to(0).borrow()) return true;
      to(0).give_back();
    }
    return false;
  }

  std::atomic<bool> never_{false};
  std::unique_ptr<Communicator> ranks_[2];
};

TEST_F(Pair, the_one_that_fails_waits_until_its_peer_is_out_of_its_buffers) {
  ASSERT_TRUE(to(0).borrow());
  const Nanos begin = now_ns();
  std::future<Nanos> failed = fail_first();
  ASSERT_TRUE(await_recall());
  (void)failed.wait_for(std::chrono::milliseconds(100));  // it would be back long since
  const Nanos out = now_ns();
  to(0).give_back();
  const Nanos returned = failed.get();
  // Unless this thread was kept from running until the other's patience ended.
  EXPECT_TRUE(returned >= out || returned - begin >= 500'000'000)
      << "it returned " << out - returned << " ns early";
}

TEST_F(Pair, the_one_that_fails_does_not_wait_for_ever) {
  ASSERT_TRUE(to(0).borrow());
  std::future<Nanos> failed = fail_first();
  EXPECT_EQ(failed.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  to(0).give_back();
}

TEST_F(Pair, who_comes_too_late_reports_why) {
  (void)fail_first().get();
  ASSERT_FALSE(to(0).borrow());
  const auto news = ranks_[1]->mesh().hear_peer(to(0));
  ASSERT_FALSE(news);
  EXPECT_NE(news.error().text.find("rank 0 aborted"), std::string::npos) << news.error().text;
}

}  // namespace
}  // namespace gyre
