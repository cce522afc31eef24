#include "core/doorway.h"

#include "core/join_ranks.h"

#include <gtest/gtest.h>

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
      if (other != rank) peers.push_back({other, GYRE_TRY(unpack_card(cards[static_cast<std::size_t>(other)]))});
    const Call call{.comm = 7, .rank = rank};
    auto links = GYRE_TRY(boot.doorway()->connect(call, peers, deadline_in(20_s), never));
    const Until until{deadline_in(20_s)};
    for (auto& link : links) GYRE_TRY(link.socket.send_all(std::as_bytes(std::span(&rank, 1)), until));
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

}  // namespace
}  // namespace gyre
