// Groups, messages and streams: any order inside a group, order between pairs, work beside the
// caller.
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <utility>

#include "world/call.h"
#include "world/roads.h"

namespace world {
namespace {

using harness::Rank;

class Groups : public testing::TestWithParam<Road> {};
INSTANTIATE_TEST_SUITE_P(World, Groups, testing::ValuesIn(all_roads()), name_of_road);

std::size_t z(int value) { return static_cast<std::size_t>(value); }

// Everyone to everyone, himself too, receives before sends; `messages` each, of growing sizes.
void exchange_all(Rank& me, gyreComm_t comm, int messages, std::size_t count_max) {
  const int n = me.size();
  auto count_of = [&](int k) { return z(k) * 7919 % (count_max + 1); };
  auto value_of = [](int from, int to, int k) { return from * 1'000'000 + to * 100'000 + k; };
  std::vector<std::vector<std::int32_t>> out(z(n * messages)), in(z(n * messages));
  EXPECT_OK(gyreGroupStart());
  for (int k = 0; k < messages; ++k)
    for (int peer = 0; peer < n; ++peer) {
      const std::size_t at = z(k * n + peer);
      in[at].assign(count_of(k), -1);
      out[at].assign(count_of(k), value_of(me.rank(), peer, k));
      EXPECT_OK(gyreRecv(in[at].data(), in[at].size(), gyreInt32, peer, comm, nullptr));
    }
  EXPECT_OK(gyreGroupStart());
  for (int peer = n - 1; peer >= 0; --peer)
    for (int k = 0; k < messages; ++k) {
      const std::size_t at = z(k * n + peer);
      EXPECT_OK(gyreSend(out[at].data(), out[at].size(), gyreInt32, peer, comm, nullptr));
    }
  EXPECT_OK(gyreGroupEnd());
  ASSERT_OK(gyreGroupEnd());
  for (int k = 0; k < messages; ++k)
    for (int peer = 0; peer < n; ++peer)
      for (const std::int32_t x : in[z(k * n + peer)]) ASSERT_EQ(x, value_of(peer, me.rank(), k));
}

TEST_P(Groups, sends_and_receives_complete_in_any_order) {
  for (const int ranks : {2, 5})
    harness::run_world(on(GetParam(), ranks), [](Rank& me) {
      gyreComm_t comm = me.join();
      for (int i = 0; i < 5; ++i) exchange_all(me, comm, 20, 3000);
      exchange_all(me, comm, 3, 400'000);
      EXPECT_OK(gyreCommDestroy(comm));
    });
}

TEST_P(Groups, ten_thousand_messages_per_peer_keep_their_order) {
  harness::run_world(on(GetParam(), 2), [](Rank& me) {
    gyreComm_t comm = me.join();
    exchange_all(me, comm, 10'000, 30);
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST_P(Groups, large_messages_cross_in_both_directions) {
  harness::run_world(on(GetParam(), 2), [](Rank& me) {
    gyreComm_t comm = me.join();
    const std::size_t count = (64 << 20) / sizeof(std::int64_t);
    std::vector<std::int64_t> out(count), in(count);
    std::iota(out.begin(), out.end(), me.rank());
    EXPECT_OK(gyreGroupStart());
    EXPECT_OK(gyreSend(out.data(), count, gyreInt64, 1 - me.rank(), comm, nullptr));
    EXPECT_OK(gyreRecv(in.data(), count, gyreInt64, 1 - me.rank(), comm, nullptr));
    ASSERT_OK(gyreGroupEnd());
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(in[i], static_cast<std::int64_t>(i) + 1 - me.rank());
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST_P(Groups, collectives_and_messages_mix) {
  harness::run_world(on(GetParam(), 4), [](Rank& me) {
    gyreComm_t comm = me.join();
    for (int i = 0; i < 30; ++i) {
      std::vector<std::int32_t> sums(z(i * 300 + 1), i), all(4), one(1, me.rank()), from(1, -1);
      const int next = (me.rank() + 1) % 4, before = (me.rank() + 3) % 4;
      EXPECT_OK(gyreGroupStart());
      EXPECT_OK(gyreSend(one.data(), 1, gyreInt32, next, comm, nullptr));
      EXPECT_OK(
          gyreAllReduce(sums.data(), sums.data(), sums.size(), gyreInt32, gyreSum, comm, nullptr));
      EXPECT_OK(gyreRecv(from.data(), 1, gyreInt32, before, comm, nullptr));
      EXPECT_OK(gyreAllGather(one.data(), all.data(), 1, gyreInt32, comm, nullptr));
      ASSERT_OK(gyreGroupEnd());
      for (const std::int32_t x : sums) ASSERT_EQ(x, 4 * i);
      ASSERT_EQ(from[0], before);
      ASSERT_EQ(all, (std::vector<std::int32_t>{0, 1, 2, 3}));
    }
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST_P(Groups, of_one_thread_drive_several_communicators) {
  harness::run_world(on(GetParam(), 3), [](Rank& me) {
    gyreComm_t comms[3];
    for (int c = 0; c < 3; ++c) comms[c] = me.join(nullptr, c);
    // Every rank names them in another order: inside a group that must not matter.
    for (int i = 0; i < 50; ++i) {
      std::int32_t sums[3] = {i, i + 1, i + 2};
      EXPECT_OK(gyreGroupStart());
      for (int c = 0; c < 3; ++c) {
        const int which = (c + me.rank() + i) % 3;
        EXPECT_OK(gyreAllReduce(&sums[which], &sums[which], 1, gyreInt32, gyreSum, comms[which],
                                nullptr));
      }
      ASSERT_OK(gyreGroupEnd());
      for (int c = 0; c < 3; ++c) ASSERT_EQ(sums[c], 3 * (i + c));
    }
    for (const gyreComm_t comm : comms) EXPECT_OK(gyreCommDestroy(comm));
  });
}

// A token goes round: only rank 0 has both ends under way at once, and its receive cannot be met,
// not even by a link, before its send has been. Nothing was used before, so all links are made
// here.
TEST_P(Groups, a_token_goes_round_on_first_use) {
  harness::run_world(on(GetParam(), 4, {{"GYRE_TIMEOUT", "10s"}}), [](Rank& me) {
    const int next = (me.rank() + 1) % 4, before = (me.rank() + 3) % 4;
    const std::size_t counts[] = {1, 300'000};
    for (int which = 0; which < 2; ++which) {
      const std::size_t count = counts[which];
      gyreComm_t comm = me.join(nullptr, which);
      std::vector<std::int32_t> token(count, me.rank() == 0 ? 7 : -1);
      if (me.rank() == 0) {
        const std::vector<std::int32_t> sent = token;
        EXPECT_OK(gyreGroupStart());
        EXPECT_OK(gyreRecv(token.data(), count, gyreInt32, before, comm, nullptr));
        EXPECT_OK(gyreSend(sent.data(), count, gyreInt32, next, comm, nullptr));
        ASSERT_OK(gyreGroupEnd());
        ASSERT_EQ(token, std::vector<std::int32_t>(count, 10));
      } else {
        ASSERT_OK(gyreRecv(token.data(), count, gyreInt32, before, comm, nullptr));
        for (std::int32_t& x : token) ++x;
        ASSERT_OK(gyreSend(token.data(), count, gyreInt32, next, comm, nullptr));
      }
      EXPECT_OK(gyreCommDestroy(comm));
    }
  });
}

// Messages in one drawn order for all; each rank cuts its own into groups as it likes. The first
// message that is not through is then always in both its ranks' groups, so nobody may wait in vain,
// least of all on first use, when a group's other peers may be far behind.
TEST_P(Groups, that_follow_one_order_of_messages_never_wait_in_vain) {
  constexpr int kRanks = 5, kMessages = 60;
  harness::run_world(on(GetParam(), kRanks, {{"GYRE_TIMEOUT", "20s"}}), [](Rank& me) {
    for (int round = 0; round < 6; ++round) {
      const std::uint64_t seed = seed_of_run() * 100 + static_cast<std::uint64_t>(round);
      std::mt19937_64 common(seed), own(seed * kRanks + static_cast<std::uint64_t>(me.rank()));
      gyreComm_t comm = me.join(nullptr, round);
      std::vector<std::vector<std::int32_t>> data;
      std::vector<int> received;  // messages, by place in `data`; -1: sent
      bool open = false;
      for (int k = 0; k < kMessages; ++k) {
        const int from = static_cast<int>(common() % kRanks);
        const int to = (from + 1 + static_cast<int>(common() % (kRanks - 1))) % kRanks;
        const std::size_t count = common() % 4 == 0 ? common() % 200'000 : common() % 20;
        if (from != me.rank() && to != me.rank()) continue;
        if (!std::exchange(open, true)) {
          EXPECT_OK(gyreGroupStart());
        }
        received.push_back(to == me.rank() ? k : -1);
        data.emplace_back(count, to == me.rank() ? -1 : k);
        std::int32_t* at = data.back().data();
        EXPECT_OK(to == me.rank() ? gyreRecv(at, count, gyreInt32, from, comm, nullptr)
                                  : gyreSend(at, count, gyreInt32, to, comm, nullptr));
        if (own() % 3 != 0) continue;
        ASSERT_EQ(gyreGroupEnd(), gyreSuccess) << gyreGetLastError(comm) << ", seed " << seed;
        open = false;
      }
      if (open) {
        ASSERT_EQ(gyreGroupEnd(), gyreSuccess) << gyreGetLastError(comm) << ", seed " << seed;
      }
      for (std::size_t at = 0; at < data.size(); ++at) {
        if (received[at] < 0) continue;
        ASSERT_EQ(data[at], std::vector<std::int32_t>(data[at].size(), received[at]))
            << "seed " << seed;
      }
      EXPECT_OK(gyreCommDestroy(comm));
    }
  });
}

TEST_P(Groups, crossed_sends_without_a_group_time_out_and_say_what_to_do) {
  harness::run_world(on(GetParam(), 2, {{"GYRE_TIMEOUT", "1s"}}), [](Rank& me) {
    gyreComm_t comm = me.join();
    std::vector<float> data(8 << 20);
    const gyreResult_t sent =
        gyreSend(data.data(), data.size(), gyreFloat32, 1 - me.rank(), comm, nullptr);
    EXPECT_TRUE(sent == gyreTimeout || sent == gyreRemoteError) << sent;
    EXPECT_NE(std::string(gyreGetLastError(comm)).find("gyreGroupStart"), std::string::npos)
        << gyreGetLastError(comm);
    me.meet();
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST(Groups, misuse_is_an_error_that_changes_nothing) {
  harness::run_world({.ranks = 1}, [](Rank& me) {
    gyreComm_t comm = me.join();
    EXPECT_EQ(gyreGroupEnd(), gyreInvalidUsage);
    float x = 3;
    EXPECT_OK(gyreGroupStart());
    EXPECT_OK(gyreSend(&x, 1, gyreFloat32, 0, comm, nullptr));
    EXPECT_EQ(gyreGroupEnd(), gyreInvalidUsage) << "a send to oneself without its receive";
    EXPECT_EQ(gyreAllReduce(&x, &x, 1, gyreNumTypes, gyreSum, comm, nullptr), gyreInvalidArgument);
    EXPECT_EQ(gyreAllReduce(nullptr, &x, 1, gyreFloat32, gyreSum, comm, nullptr),
              gyreInvalidArgument);
    EXPECT_EQ(gyreAllReduce(&x, &x, 1, gyreFloat32, gyreBand, comm, nullptr), gyreInvalidArgument);
    EXPECT_EQ(gyreBroadcast(&x, &x, 1, gyreFloat32, 1, comm, nullptr), gyreInvalidArgument);
    EXPECT_EQ(gyreAllGather(&x, &x, SIZE_MAX / 2, gyreFloat64, comm, nullptr), gyreInvalidArgument);
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

// ---- V-collectives of nothing, over and over ----

TEST_P(Groups, ten_thousand_tiny_uneven_exchanges) {
  harness::run_world(on(GetParam(), 3), [](Rank& me) {
    gyreComm_t comm = me.join();
    const std::size_t offsets[] = {0, 4, 8};
    for (int i = 0; i < 10'000; ++i) {
      // By turns: everything empty, one row empty, one column empty, all full.
      auto count = [&](int from, int to) -> std::size_t {
        const bool none =
            i % 4 == 0 || (i % 4 == 1 && from == i / 4 % 3) || (i % 4 == 2 && to == i / 4 % 3);
        return none ? 0 : z((from + to + i) % 4);
      };
      std::size_t out[3], in[3];
      std::int32_t send[12], recv[12] = {};
      for (int r = 0; r < 3; ++r) out[r] = count(me.rank(), r), in[r] = count(r, me.rank());
      for (int k = 0; k < 12; ++k) send[k] = me.rank() * 100 + k;
      ASSERT_OK(gyreAlltoAllV(send, out, offsets, recv, in, offsets, gyreInt32, comm, nullptr));
      for (int r = 0; r < 3; ++r)
        for (std::size_t k = 0; k < 4; ++k)
          ASSERT_EQ(recv[z(r) * 4 + k],
                    k < in[r] ? r * 100 + me.rank() * 4 + static_cast<std::int32_t>(k) : 0);
    }
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST_P(Groups, empty_calls_keep_order) {
  harness::run_world(on(GetParam(), 3), [](Rank& me) {
    gyreComm_t comm = me.join();
    for (int i = 0; i < 100; ++i) {
      for (int kind = 0; kind < kKinds; ++kind)
        perform(me, comm,
                {.kind = static_cast<Kind>(kind), .type = gyreInt32, .count = 0, .seed = 4});
      perform(me, comm, {.type = gyreInt32, .count = 5, .seed = static_cast<std::uint64_t>(i)});
    }
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

// ---- Streams ----

TEST_P(Groups, streams_run_in_order_beside_the_caller) {
  harness::run_world(on(GetParam(), 3), [](Rank& me) {
    gyreComm_t comm = me.join();
    gyreStream_t stream;
    EXPECT_OK(gyreHostStreamCreate(&stream));
    std::vector<std::int32_t> data(20'000, 1);
    // Each call needs what the one before left: any other order gives another number.
    std::int32_t expected = 1;
    for (int i = 0; i < 8; ++i) {
      EXPECT_OK(gyreAllReduce(data.data(), data.data(), data.size(), gyreInt32,
                              i % 2 ? gyreMax : gyreSum, comm, stream));
      if (i % 2 == 0) expected *= 3;
    }
    // The caller may use other communicators meanwhile.
    gyreComm_t other = me.join(nullptr, 1);
    EXPECT_OK(gyreBarrier(other, nullptr));
    EXPECT_OK(gyreHostStreamSynchronize(stream));
    EXPECT_OK(gyreHostStreamQuery(stream));
    for (const std::int32_t x : data) ASSERT_EQ(x, expected);
    for (int i = 0; i < 40; ++i)
      perform(me, comm, draw({}, 7000 + static_cast<std::uint64_t>(i), me.size()), stream);
    EXPECT_OK(gyreHostStreamDestroy(stream));
    EXPECT_OK(gyreCommDestroy(comm));
    EXPECT_OK(gyreCommDestroy(other));
  });
}

TEST_P(Groups, a_group_over_streams_joins_them) {
  harness::run_world(on(GetParam(), 2), [](Rank& me) {
    gyreComm_t comms[2] = {me.join(nullptr, 0), me.join(nullptr, 1)};
    gyreStream_t streams[2];
    for (auto& stream : streams) EXPECT_OK(gyreHostStreamCreate(&stream));
    for (int i = 0; i < 30; ++i) {
      std::int32_t sums[2] = {1, 10};
      EXPECT_OK(gyreGroupStart());
      for (int c = 0; c < 2; ++c) {
        const int which = (c + me.rank()) % 2;
        EXPECT_OK(gyreAllReduce(&sums[which], &sums[which], 1, gyreInt32, gyreSum, comms[which],
                                streams[which]));
      }
      EXPECT_OK(gyreGroupEnd());
      for (const auto stream : streams) EXPECT_OK(gyreHostStreamSynchronize(stream));
      ASSERT_EQ(sums[0], 2);
      ASSERT_EQ(sums[1], 20);
    }
    for (const auto stream : streams) EXPECT_OK(gyreHostStreamDestroy(stream));
    for (const auto comm : comms) EXPECT_OK(gyreCommDestroy(comm));
  });
}

}  // namespace
}  // namespace world
