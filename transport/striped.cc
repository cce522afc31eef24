#include "transport/striped.h"

#include <algorithm>

#include "base/param.h"

namespace gyre {

GYRE_PARAM(
    tcp_sockets, std::int64_t, 1,
    "sockets per pair of ranks over TCP, 1 to 16; more pay where one flow gets less than the "
    "line carries (per-flow limits of clouds, long round trips); must match on all ranks");

int tcp_sockets() {
  return static_cast<int>(std::clamp<std::int64_t>(param_tcp_sockets.get(), 0, kTcpSocketsMax + 1));
}

namespace {

// Large enough that a small message is one system call on one socket, small enough that a chunk of
// the default 128 KiB keeps four sockets busy.
constexpr std::size_t kStripeBytes = 32 << 10;

// Where one direction of the stream is.
struct Place {
  std::size_t lane = 0;
  std::size_t left = kStripeBytes;  // of the stripe

  void advance(std::size_t bytes, std::size_t lanes) {
    left -= bytes;
    if (left > 0) return;
    left = kStripeBytes;
    lane = (lane + 1) % lanes;
  }
};

class StripedWire final : public Wire {
 public:
  explicit StripedWire(std::vector<std::unique_ptr<Wire>> lanes) : lanes_(std::move(lanes)) {}

  Moved send(std::span<const iovec> parts) override {
    return deal(parts, out_, [](Wire& lane, auto some) { return lane.send(some); });
  }
  Moved receive(std::span<const iovec> parts) override {
    return deal(parts, in_, [](Wire& lane, auto some) { return lane.receive(some); });
  }
  Status probe() override {
    for (const auto& lane : lanes_) GYRE_TRY(lane->probe());
    return {};
  }
  bool arrived() const override {
    return std::all_of(lanes_.begin(), lanes_.end(),
                       [](const auto& lane) { return lane->arrived(); });
  }
  int descriptor() const override { return lanes_[in_.lane]->descriptor(); }
  int send_descriptor() const override { return lanes_[out_.lane]->send_descriptor(); }

 private:
  // Stripe by stripe until a lane has had enough.
  template <class Try>
  Moved deal(std::span<const iovec> parts, Place& place, Try attempt) {
    std::size_t done = 0;
    for (;;) {
      const std::size_t wanted = cut(parts, done, place.left);
      if (wanted == 0) return {.bytes = done};
      const Moved moved = attempt(*lanes_[place.lane], std::span<const iovec>(some_));
      done += moved.bytes;
      place.advance(moved.bytes, lanes_.size());
      // An end that shows only after some bytes is told next time.
      if (moved.over && done == 0) return moved;
      if (moved.bytes < wanted) return {.bytes = done};
    }
  }
  // `some_` becomes `room` bytes of `parts` from byte `from` on, or what there is.
  std::size_t cut(std::span<const iovec> parts, std::size_t from, std::size_t room);

  std::vector<std::unique_ptr<Wire>> lanes_;
  Place in_, out_;
  std::vector<iovec> some_;
};

std::size_t StripedWire::cut(std::span<const iovec> parts, std::size_t from, std::size_t room) {
  some_.clear();
  std::size_t bytes = 0;
  for (iovec part : parts) {
    const std::size_t skipped = std::min(from, part.iov_len);
    from -= skipped;
    part.iov_base = static_cast<std::byte*>(part.iov_base) + skipped;
    part.iov_len = std::min(part.iov_len - skipped, room - bytes);
    if (part.iov_len == 0) continue;
    some_.push_back(part);
    bytes += part.iov_len;
  }
  return bytes;
}

}  // namespace

std::unique_ptr<Wire> make_striped_wire(std::vector<std::unique_ptr<Wire>> lanes) {
  if (lanes.size() == 1) return std::move(lanes.front());
  return std::make_unique<StripedWire>(std::move(lanes));
}

}  // namespace gyre
