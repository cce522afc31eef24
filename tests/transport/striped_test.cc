// A striped wire gives what went in, whatever its lanes give and take at a time.
#include "transport/striped.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace gyre {
namespace {

// Bytes on their way; `closed` once no more will come.
struct Pipe {
  std::deque<std::byte> bytes;
  bool closed = false;
};

// Moves as much as its dice say, often nothing.
class DicedWire final : public Wire {
 public:
  DicedWire(Pipe& out, Pipe& in, std::mt19937_64& dice) : out_(out), in_(in), dice_(dice) {}

  Moved send(std::span<const iovec> parts) override {
    std::size_t room = draw(), done = 0;
    for (const iovec& part : parts)
      for (std::size_t i = 0; i < part.iov_len && room > 0; ++i, --room, ++done)
        out_.bytes.push_back(static_cast<const std::byte*>(part.iov_base)[i]);
    return {.bytes = done};
  }
  Moved receive(std::span<const iovec> parts) override {
    std::size_t room = draw(), done = 0;
    for (const iovec& part : parts)
      for (std::size_t i = 0; i < part.iov_len && room > 0 && !in_.bytes.empty();
           ++i, --room, ++done) {
        static_cast<std::byte*>(part.iov_base)[i] = in_.bytes.front();
        in_.bytes.pop_front();
      }
    return {.bytes = done, .over = done == 0 && in_.closed && in_.bytes.empty()};
  }

 private:
  std::size_t draw() { return dice_() % 3 == 0 ? 0 : dice_() % 100'000; }

  Pipe& out_;
  Pipe& in_;
  std::mt19937_64& dice_;
};

class Striped : public testing::TestWithParam<int> {
 protected:
  Striped() : pipes_(static_cast<std::size_t>(GetParam())) {
    std::vector<std::unique_ptr<Wire>> from, to;
    for (Pipe& pipe : pipes_) {
      from.push_back(std::make_unique<DicedWire>(pipe, nothing_, dice_));
      to.push_back(std::make_unique<DicedWire>(nothing_, pipe, dice_));
    }
    from_ = make_striped_wire(std::move(from));
    to_ = make_striped_wire(std::move(to));
    for (std::size_t i = 0; i < sent_.size(); ++i) sent_[i] = static_cast<std::byte>(dice_());
  }

  // Offers all that is left, in parts of drawn lengths.
  void send_some() {
    std::vector<iovec> parts;
    for (std::size_t at = out_; at < sent_.size() && parts.size() < 8;) {
      const std::size_t bytes = std::min<std::size_t>(dice_() % 70'000, sent_.size() - at);
      parts.push_back({&sent_[at], bytes});
      at += bytes;
    }
    out_ += from_->send(parts).bytes;
  }
  // False once the stream is over.
  bool receive_some() {
    std::vector<std::byte> one(dice_() % 90'000), two(1 + dice_() % 50'000);
    const iovec parts[] = {{one.data(), one.size()}, {two.data(), two.size()}};
    const Moved moved = to_->receive(parts);
    one.insert(one.end(), two.begin(), two.end());
    got_.insert(got_.end(), one.begin(), one.begin() + static_cast<std::ptrdiff_t>(moved.bytes));
    return !moved.over;
  }

  const unsigned seed_ = std::random_device{}();
  std::mt19937_64 dice_{seed_};
  std::vector<Pipe> pipes_;
  Pipe nothing_;
  std::unique_ptr<Wire> from_, to_;
  std::vector<std::byte> sent_ = std::vector<std::byte>(3'000'000), got_;
  std::size_t out_ = 0;
};
INSTANTIATE_TEST_SUITE_P(All, Striped, testing::Values(1, 2, 3, 16));

TEST_P(Striped, the_stream_comes_out_as_it_went_in) {
  while (got_.size() < sent_.size()) {
    send_some();
    ASSERT_TRUE(receive_some());
  }
  EXPECT_TRUE(got_ == sent_) << "seed " << seed_;
}

TEST_P(Striped, what_was_sent_is_received_before_the_end) {
  while (out_ < sent_.size()) send_some();
  for (Pipe& pipe : pipes_) pipe.closed = true;
  while (receive_some()) {
  }
  EXPECT_TRUE(got_ == sent_) << "seed " << seed_;
}

TEST_P(Striped, all_lanes_carry_their_share) {
  while (out_ < sent_.size()) send_some();
  for (const Pipe& pipe : pipes_)
    EXPECT_GE(pipe.bytes.size(), sent_.size() / pipes_.size() - 2 * 32768) << "seed " << seed_;
}

}  // namespace
}  // namespace gyre
