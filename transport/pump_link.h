// The link that a pump is (pump.h): what it keeps while frames are half sent or half read. For
// pump.cc alone.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/frames.h"
#include "transport/pump.h"

namespace gyre {

inline constexpr std::size_t kPumpBatch = 16;             // frames per system call
inline constexpr std::size_t kPumpStageBytes = 64 << 10;  // read-ahead for headers, short payloads

class PumpLink final : public Link {
 public:
  PumpLink(int peer, std::string name, std::unique_ptr<Wire> wire, std::uint64_t limit)
      : Link(peer),
        name_(std::move(name)),
        wire_(std::move(wire)),
        limit_bytes_(limit),
        stage_(kPumpStageBytes) {}
  ~PumpLink() override {
    if (broken_) return;
    queue(PumpFrame{.kind = PumpFrameKind::bye});
    part();
  }

  const char* name() const override { return name_.c_str(); }
  Result<FifoReader> incoming(const EdgeKey& key, const FifoShape& shape) override;
  Result<std::optional<FifoWriter>> outgoing(const EdgeKey& key, const FifoShape& shape) override;
  Result<bool> turn() override;
  bool flushed() const override;
  Result<PeerNews> check() override;
  void leave(const Farewell& farewell) override;
  void watch(std::vector<pollfd>& into) const override {
    if (closed_ || broken_ || farewell_) return;
    if (wire_->descriptor() >= 0) into.push_back({wire_->descriptor(), POLLIN, 0});
    if (batch_count_ > 0 && wire_->send_descriptor() >= 0)
      into.push_back({wire_->send_descriptor(), POLLOUT, 0});
  }

 private:
  struct Out {
    EdgeKey key;
    FifoMemory memory;
    Mapping storage;
    std::uint64_t sent = 0;
  };
  struct In {
    EdgeKey key;
    FifoWriter filler;
    Mapping storage;
    std::uint64_t credited = 0;
  };
  struct Opened {
    EdgeKey key;
    FifoShape shape;
  };
  struct Control {
    PumpFrame header;
    std::string payload;
  };

  void part();
  Result<Mapping> storage(const FifoShape& shape);
  void queue(const PumpFrame& header, std::string payload = {}) {
    controls_.push_back({header, std::move(payload)});
  }
  void gather_batch();
  void queue_credits();
  Result<bool> send_some();
  Result<bool> receive_some();
  Status parse();
  Status accept_frame();
  Status finish_payload();
  In* find_in(const EdgeKey& key);
  Error lost(int reason);

  std::string name_;
  std::unique_ptr<Wire> wire_;
  std::uint64_t limit_bytes_;
  std::uint64_t bytes_ = 0;
  bool broken_ = false;
  bool deaf_ = false;    // the peer takes nothing more; what it sent before may still be read
  bool closed_ = false;  // the peer said bye
  bool parted_in_failure_ = false;
  std::optional<Farewell> farewell_;

  // Deques: FIFO views point into their elements' storage; growth must not move the counters.
  std::deque<Out> outs_;
  std::deque<In> ins_;
  std::vector<Opened> opened_;  // by the peer, not yet asked for here

  // Sending: one batch of frames at a time; parts_ are consumed from the front.
  std::deque<Control> controls_, control_batch_;
  std::array<PumpFrame, kPumpBatch> headers_;
  std::array<iovec, 2 * kPumpBatch> parts_;
  std::size_t part_ = 0, part_count_ = 0, batch_count_ = 0, next_out_ = 0;

  // Receiving: stage_[stage_first_, stage_last_) is unparsed; then a payload may be under way.
  std::vector<std::byte> stage_;
  std::size_t stage_first_ = 0, stage_last_ = 0;
  PumpFrame frame_{};
  In* frame_in_ = nullptr;
  std::byte* payload_ = nullptr;
  std::size_t payload_left_ = 0;
  std::string text_;  // payload of a farewell
};

}  // namespace gyre
