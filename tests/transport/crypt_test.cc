// The encrypted wire: what goes in comes out, and whoever sits between learns and changes nothing.
#include "transport/crypt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <string>

namespace gyre {
namespace {

// Bytes on their way, for the test to read and spoil. `room`: most that one call moves.
struct Line {
  std::deque<std::uint8_t> bytes;
  std::size_t room = 1 << 20;
  bool ended = false;
};

class LineWire final : public Wire {
 public:
  LineWire(Line& out, Line& in) : out_(out), in_(in) {}
  Moved send(std::span<const iovec> parts) override {
    Moved moved;
    for (const iovec& part : parts) {
      const auto* from = static_cast<const std::uint8_t*>(part.iov_base);
      const std::size_t step = std::min(part.iov_len, out_.room - moved.bytes);
      out_.bytes.insert(out_.bytes.end(), from, from + step);
      moved.bytes += step;
    }
    return moved;
  }
  Moved receive(std::span<const iovec> parts) override {
    if (in_.bytes.empty()) return {.over = in_.ended};
    Moved moved;
    for (const iovec& part : parts) {
      const std::size_t step = std::min({part.iov_len, in_.room - moved.bytes, in_.bytes.size()});
      std::copy_n(in_.bytes.begin(), step, static_cast<std::uint8_t*>(part.iov_base));
      in_.bytes.erase(in_.bytes.begin(), in_.bytes.begin() + static_cast<std::ptrdiff_t>(step));
      moved.bytes += step;
    }
    return moved;
  }

 private:
  Line& out_;
  Line& in_;
};

class Crypt : public testing::Test {
 protected:
  Crypt() {
    fill_random(key);
    near = make_crypt_wire(std::make_unique<LineWire>(there, back), key, true);
    far = make_crypt_wire(std::make_unique<LineWire>(back, there), key, false);
  }
  static Moved send(Wire& wire, std::string text) {
    const iovec part{text.data(), text.size()};
    return wire.send({&part, 1});
  }
  static std::string receive(Wire& wire, std::size_t room = 1 << 20) {
    std::string out(room, 0);
    const iovec part{out.data(), room};
    out.resize(wire.receive({&part, 1}).bytes);
    return out;
  }
  static Moved fails(Wire& wire) {
    char byte;
    const iovec part{&byte, 1};
    return wire.receive({&part, 1});
  }

  Key key{};
  Line there, back;
  std::unique_ptr<Wire> near, far;
};

TEST_F(Crypt, what_goes_in_comes_out_both_ways) {
  EXPECT_EQ(send(*near, "hello").bytes, 5u);
  EXPECT_EQ(send(*near, " there").bytes, 6u);
  EXPECT_EQ(receive(*far), "hello there");
  EXPECT_EQ(send(*far, "and back").bytes, 8u);
  EXPECT_EQ(receive(*near, 3), "and");
  EXPECT_EQ(receive(*near), " back");
  EXPECT_EQ(receive(*near), "");
}

TEST_F(Crypt, long_messages_cross_records_and_parts) {
  std::string text(100'000, 0);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 >> 3);
  std::string got;
  for (std::size_t sent = 0; sent < text.size();) {
    const std::size_t half = (text.size() - sent) / 2;
    const iovec parts[] = {{text.data() + sent, half},
                           {text.data() + sent + half, text.size() - sent - half}};
    sent += near->send(parts).bytes;
    got += receive(*far, 7001);
  }
  while (got.size() < text.size()) got += receive(*far, 7001);
  EXPECT_EQ(got, text);
}

// A caller that was told "again" offers the same bytes; nothing counts before all of it has left.
TEST_F(Crypt, a_record_under_way_counts_when_its_last_byte_has_gone) {
  there.room = 0;
  EXPECT_EQ(send(*near, "patience").bytes, 0u);
  EXPECT_EQ(receive(*far), "");
  there.room = 3;
  EXPECT_EQ(send(*near, "patience").bytes, 8u);
  EXPECT_EQ(receive(*far), "patience");
}

TEST_F(Crypt, bytes_may_trickle) {
  ASSERT_EQ(send(*near, "drop by drop").bytes, 12u);
  there.room = 1;
  EXPECT_EQ(receive(*far), "drop by drop");
}

TEST_F(Crypt, nothing_readable_is_on_the_line) {
  const std::string secret(64, 's');
  ASSERT_EQ(send(*near, secret).bytes, 64u);
  const std::string line(there.bytes.begin(), there.bytes.end());
  EXPECT_EQ(line.find("ssss"), std::string::npos);
  const std::string first = line;
  there.bytes.clear();
  ASSERT_EQ(send(*near, secret).bytes, 64u);
  EXPECT_NE(std::string(there.bytes.begin(), there.bytes.end()), first) << "a nonce came twice";
}

TEST_F(Crypt, every_bit_counts) {
  ASSERT_EQ(send(*near, "exact").bytes, 5u);
  const std::deque<std::uint8_t> good = there.bytes;
  for (std::size_t i = 0; i < good.size(); ++i) {
    Line line;
    line.bytes = good;
    line.bytes[i] ^= 1;
    line.ended = true;
    Line nowhere;
    auto reader = make_crypt_wire(std::make_unique<LineWire>(nowhere, line), key, false);
    const Moved moved = fails(*reader);
    EXPECT_EQ(moved.bytes, 0u) << "byte " << i;
    EXPECT_TRUE(moved.over) << "byte " << i;
  }
}

TEST_F(Crypt, records_repeated_left_out_or_sent_back_break_the_wire) {
  ASSERT_EQ(send(*near, "one").bytes, 3u);
  const std::deque<std::uint8_t> one = there.bytes;
  ASSERT_EQ(receive(*far), "one");
  there.bytes = one;
  Moved moved = fails(*far);
  EXPECT_TRUE(moved.over && moved.reason == EBADMSG) << "a record came twice";

  back.bytes = one;
  moved = fails(*near);
  EXPECT_TRUE(moved.over && moved.reason == EBADMSG) << "its own record came back";
}

TEST_F(Crypt, another_key_opens_nothing) {
  ASSERT_EQ(send(*near, "mine").bytes, 4u);
  Key other = key;
  other[31] ^= 1;
  auto reader = make_crypt_wire(std::make_unique<LineWire>(back, there), other, false);
  EXPECT_EQ(fails(*reader).reason, EBADMSG);
}

TEST_F(Crypt, the_end_comes_through) {
  ASSERT_EQ(send(*near, "last").bytes, 4u);
  there.ended = true;
  EXPECT_EQ(receive(*far), "last");
  const Moved moved = fails(*far);
  EXPECT_TRUE(moved.over);
  EXPECT_EQ(moved.reason, 0);
}

}  // namespace
}  // namespace gyre
