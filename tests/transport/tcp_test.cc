// The pump against a peer that speaks frames by hand: whatever does not fit is refused, and nothing
// is written outside a slot.
#include "transport/tcp.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "base/check.h"
#include "transport/frames.h"

namespace gyre {
namespace {

constexpr EdgeKey kKey{EdgeKind::bulk, 2};
constexpr FifoShape kShape{4, 1000};

class Frames : public testing::Test {
 protected:
  Frames() {
    int fds[2];
    GYRE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    hand_ = Fd(fds[1]);
    link_ = make_tcp_link(3, Fd(fds[0]), 1 << 20);
  }

  static PumpFrame data(std::uint64_t step, std::uint32_t bytes) {
    return {.kind = PumpFrameKind::data,
            .edge_kind = kKey.kind,
            .index = kKey.index,
            .bytes = bytes,
            .value = step,
            .call = {step, bytes}};
  }
  // As it comes: the header and `bytes` of payload.
  void say(const PumpFrame& frame) {
    std::vector<std::byte> out(sizeof frame + frame.bytes, std::byte{0x77});
    std::memcpy(out.data(), &frame, sizeof frame);
    say_bytes(out);
  }
  void say_bytes(std::span<const std::byte> bytes) {
    ASSERT_EQ(::write(hand_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  FifoReader open() {
    auto reader = link_->incoming(kKey, kShape);
    EXPECT_TRUE(reader);
    PumpFrame seen{};
    EXPECT_EQ(::read(hand_.get(), &seen, sizeof seen), static_cast<ssize_t>(sizeof seen));
    EXPECT_EQ(seen.kind, PumpFrameKind::open);
    EXPECT_EQ(seen.extra, kShape.slots);
    EXPECT_EQ(seen.value, kShape.slot_bytes);
    return *reader;
  }
  void expect_refused(const char* why) {
    for (int turn = 0; turn < 2; ++turn) {
      auto turned = link_->turn();
      ASSERT_FALSE(turned) << "a frame with " << why << " went through";
      EXPECT_EQ(turned.error().code, Code::remote);
      EXPECT_EQ(turned.error().rank, 3);
      if (turn == 1) continue;
      EXPECT_NE(turned.error().text.find(why), std::string::npos) << turned.error().text;
    }
    std::vector<pollfd> waits;
    link_->watch(waits);
    EXPECT_TRUE(waits.empty());
  }

  Fd hand_;
  std::unique_ptr<Link> link_;
};

TEST_F(Frames, a_frame_may_come_byte_by_byte) {
  FifoReader reader = open();
  const PumpFrame frame = data(0, 100);
  std::vector<std::byte> bytes(sizeof frame + 100, std::byte{0x11});
  std::memcpy(bytes.data(), &frame, sizeof frame);
  for (const std::byte byte : bytes) {
    EXPECT_FALSE(reader.ready());
    say_bytes({&byte, 1});
    ASSERT_TRUE(link_->turn());
  }
  ASSERT_TRUE(reader.ready());
  EXPECT_EQ(reader.header().bytes, 100u);
  EXPECT_EQ(reader.payload(100)[99], std::byte{0x11});
}

TEST_F(Frames, many_frames_may_come_at_once) {
  FifoReader reader = open();
  for (std::uint64_t step = 0; step < 4; ++step)
    say(data(step, static_cast<std::uint32_t>(step * 300)));
  ASSERT_TRUE(link_->turn());
  for (std::uint64_t step = 0; step < 4; ++step) {
    ASSERT_TRUE(reader.ready());
    EXPECT_EQ(reader.header().call.what, step);
    reader.release();
  }
}

TEST_F(Frames, data_for_an_edge_that_is_not_open_is_refused) {
  say(data(0, 8));
  expect_refused("not open");
}

TEST_F(Frames, data_longer_than_a_slot_is_refused) {
  open();
  say(data(0, kShape.slot_bytes + 1));
  expect_refused("too long");
}

TEST_F(Frames, a_step_out_of_order_is_refused) {
  open();
  say(data(1, 8));
  expect_refused("out of order");
}

TEST_F(Frames, data_without_credit_is_refused) {
  FifoReader reader = open();
  for (std::uint64_t step = 0; step < 5; ++step) say(data(step, 8));
  expect_refused("no credit");
  EXPECT_TRUE(reader.ready()) << "what came in order before is there";
}

TEST_F(Frames, an_unknown_kind_is_refused) {
  say({.kind = static_cast<PumpFrameKind>(0x4747)});
  expect_refused("unknown");
}

TEST_F(Frames, slots_that_cannot_be_are_refused) {
  say({.kind = PumpFrameKind::open, .extra = 0, .value = 100});
  expect_refused("impossible");
}

TEST_F(Frames, slots_of_gigabytes_are_refused) {
  say({.kind = PumpFrameKind::open, .extra = 4, .value = 1ull << 40});
  expect_refused("impossible");
}

TEST_F(Frames, a_payload_where_none_belongs_is_refused) {
  say({.kind = PumpFrameKind::bye, .bytes = 4});
  expect_refused("payload");
}

TEST_F(Frames, an_endless_farewell_is_refused) {
  PumpFrame frame{.kind = PumpFrameKind::farewell};
  frame.bytes = 1u << 30;
  say_bytes(std::as_bytes(std::span(&frame, 1)));
  expect_refused("farewell");
}

class Credits : public Frames {
 protected:
  FifoWriter writer() {
    say({.kind = PumpFrameKind::open,
         .edge_kind = kKey.kind,
         .index = kKey.index,
         .extra = kShape.slots,
         .value = kShape.slot_bytes});
    auto made = link_->outgoing(kKey, kShape);
    EXPECT_TRUE(made && *made);
    return **made;
  }
  void credit(std::uint64_t consumed) {
    say({.kind = PumpFrameKind::credit,
         .edge_kind = kKey.kind,
         .index = kKey.index,
         .value = consumed});
  }
};

TEST_F(Credits, count_up) {
  FifoWriter out = writer();
  for (int i = 0; i < 4; ++i) out.commit({}, 8);
  ASSERT_TRUE(link_->turn());
  EXPECT_FALSE(out.can_send());
  credit(2);
  ASSERT_TRUE(link_->turn());
  EXPECT_TRUE(out.can_send());
}

TEST_F(Credits, for_what_was_never_sent_are_refused) {
  FifoWriter out = writer();
  out.commit({}, 8);
  ASSERT_TRUE(link_->turn());
  credit(2);
  expect_refused("never sent");
}

// Else slots that are under way would be written again.
TEST_F(Credits, that_go_back_are_refused) {
  FifoWriter out = writer();
  for (int i = 0; i < 4; ++i) out.commit({}, 8);
  ASSERT_TRUE(link_->turn());
  credit(3);
  ASSERT_TRUE(link_->turn());
  credit(1);
  expect_refused("back");
}

TEST_F(Frames, fifo_memory_has_a_limit_that_names_its_knob) {
  Status last;
  for (std::uint16_t i = 0; i < 2000; ++i) {
    auto fifo = link_->incoming({EdgeKind::bulk, i}, {4, 16 << 10});
    if (!fifo) {
      last = fifo.take_error();
      break;
    }
  }
  ASSERT_FALSE(last);
  EXPECT_NE(last.error().text.find("GYRE_FIFO_LIMIT"), std::string::npos) << last.error().text;
}

}  // namespace
}  // namespace gyre
