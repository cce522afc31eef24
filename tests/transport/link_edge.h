// What the tests of links share: edges whose messages say what they must be, and patience. Knows
// one pair of ends. Does not know transports.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/clock.h"
#include "transport/link_pair.h"

namespace gyre {

class LinkFixture : public testing::TestWithParam<LinkMaker> {
 protected:
  // Turns both ends until `done`; fails the test when nothing helps.
  template <class Done>
  static void until(LinkPair& pair, Done done, const char* what) {
    const Nanos deadline = deadline_in(20_s);
    while (!done()) {
      for (auto& end : pair.ends)
        if (end) (void)end->turn();
      ASSERT_LT(now_ns(), deadline) << "in vain: " << what;
    }
  }
};

// One edge under test: writer and reader with the byte pattern of its messages.
struct TestEdge {
  EdgeKey key;
  FifoShape shape;
  int source;  // the end that writes
  FifoWriter writer;
  FifoReader reader;
  std::uint64_t messages = 0;  // to send

  std::uint64_t salt() const {
    return static_cast<std::uint64_t>(key.kind) << 32 | std::uint64_t{key.index} << 1 |
           static_cast<std::uint64_t>(source);
  }
  CallSignature call(std::uint64_t step) const { return {salt() * 31 + step, step}; }
  std::size_t bytes(std::uint64_t step) const {
    const std::size_t most = std::max(shape.slot_bytes, kInlineBytes);
    switch (std::mt19937_64 rng(salt() ^ step * 7919); rng() % 4) {
      case 0:
        return most;
      case 1:
        return rng() % (kInlineBytes + 1);
      default:
        return rng() % (most + 1);
    }
  }
  std::byte at(std::uint64_t step, std::size_t i) const {
    return static_cast<std::byte>((salt() * 131 + step * 31 + i * 7) & 0xff);
  }
  bool done() const { return reader.step() == messages; }

  void put() {
    const std::uint64_t step = writer.step();
    const std::size_t count = bytes(step);
    std::byte* payload = writer.payload(count);
    for (std::size_t i = 0; i < count; ++i) payload[i] = at(step, i);
    writer.commit(call(step), count);
  }
  void take() {
    const std::uint64_t step = reader.step();
    const std::size_t count = bytes(step);
    ASSERT_EQ(reader.header().bytes, count) << "message " << step;
    ASSERT_EQ(reader.header().call, call(step));
    const std::byte* payload = reader.payload(count);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(payload[i], at(step, i)) << "message " << step << " byte " << i;
    reader.release();
  }
};

template <class T>
T value(Result<T> result) {
  EXPECT_TRUE(result) << result.error().text;
  return *std::move(result);
}

inline void open(LinkPair& pair, TestEdge& edge) {
  edge.reader = value(pair.ends[1 - edge.source]->incoming(edge.key, edge.shape));
  const Nanos deadline = deadline_in(20_s);
  for (;;) {
    const auto writer = value(pair.ends[edge.source]->outgoing(edge.key, edge.shape));
    if (writer) return void(edge.writer = *writer);
    for (auto& end : pair.ends) (void)end->turn();
    ASSERT_LT(now_ns(), deadline) << "the edge never opened";
  }
}

inline TestEdge opened(LinkPair& pair, int source, const FifoShape& shape,
                       const EdgeKey& key = {EdgeKind::bulk, 0}) {
  TestEdge edge{key, shape, source, {}, {}};
  open(pair, edge);
  return edge;
}

// A gtest parameter's printed form.
inline void PrintTo(const LinkMaker& maker, std::ostream* out) { *out << maker.name; }
inline std::string maker_name(const testing::TestParamInfo<LinkMaker>& at) { return at.param.name; }

}  // namespace gyre
