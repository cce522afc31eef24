#include "transport/pump.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "base/units.h"
#include "transport/pump_link.h"

namespace gyre {

namespace {

constexpr std::uint32_t kFarewellMax = 1024;
constexpr Nanos kPartingPatience = 2_s;  // for a peer's system to take our last messages

}  // namespace

Error PumpLink::lost(int reason) {
  broken_ = true;
  return error(Code::remote, "connection to rank {} broke", peer()).because(reason).blame(peer());
}

Result<Mapping> PumpLink::storage(const FifoShape& shape) {
  const std::size_t bytes = fifo_bytes(shape);
  if (bytes_ + bytes > limit_bytes_)
    return error(Code::system, "FIFO memory to rank {} would pass {} (GYRE_FIFO_LIMIT)", peer(),
                 bytes_text(limit_bytes_));
  Mapping memory = GYRE_TRY(private_fifo(shape));
  bytes_ += bytes;
  return memory;
}

Result<FifoReader> PumpLink::incoming(const EdgeKey& key, const FifoShape& shape) {
  Mapping memory = GYRE_TRY(storage(shape));
  const FifoMemory view(memory.data(), shape);
  ins_.push_back({key, FifoWriter(view), std::move(memory)});
  queue(PumpFrame{.kind = PumpFrameKind::open,
                  .edge_kind = key.kind,
                  .index = key.index,
                  .extra = shape.slots,
                  .value = shape.slot_bytes});
  GYRE_TRY(turn());
  return FifoReader(view);
}

Result<std::optional<FifoWriter>> PumpLink::outgoing(const EdgeKey& key, const FifoShape& shape) {
  GYRE_TRY(turn());
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    if (!(opened_[i].key == key)) continue;
    const FifoShape theirs = opened_[i].shape;
    if (theirs.slots != shape.slots || theirs.slot_bytes != shape.slot_bytes)
      return error(Code::invalid_usage,
                   "slots differ: {} of {} B here, {} of {} B on rank {} (GYRE_SLOT_BYTES and "
                   "GYRE_SLOTS must match on all ranks)",
                   shape.slots, shape.slot_bytes, theirs.slots, theirs.slot_bytes, peer());
    opened_.erase(opened_.begin() + static_cast<std::ptrdiff_t>(i));
    Mapping memory = GYRE_TRY(storage(shape));
    const FifoMemory view(memory.data(), shape);
    outs_.push_back({key, view, std::move(memory)});
    return std::optional(FifoWriter(view));
  }
  return std::optional<FifoWriter>();
}

bool PumpLink::flushed() const {
  if (deaf_ || closed_) return true;
  if (batch_count_ > 0 || !controls_.empty()) return false;
  for (const Out& out : outs_)
    if (out.memory.header(out.sent).flag == out.sent + 1) return false;
  return true;
}

// What comes in after a socket is closed, a credit for our last message for one, resets it, and a
// reset takes along what has not arrived yet. So an orderly end waits for that, a failed one not.
void PumpLink::part() {
  const Nanos deadline = deadline_in(kPartingPatience);
  for (;;) {
    // Also what is unread at the end would reset the connection.
    if (!send_some() || !receive_some() || broken_ || deaf_ || parted_in_failure_) return;
    if (closed_ || farewell_) return;  // the peer wants nothing any more
    if (batch_count_ == 0 && controls_.empty() && wire_->arrived()) return;
    if (now_ns() > deadline) {
      GYRE_LOG(warn, "rank {} has not taken this rank's last messages: they may be lost", peer());
      return;
    }
    ::poll(nullptr, 0, 1);
  }
}

Result<bool> PumpLink::turn() {
  if (broken_) return lost(ECONNRESET);
  queue_credits();
  const bool sent = GYRE_TRY(send_some());
  const bool received = GYRE_TRY(receive_some());
  return sent || received;
}

// A credit frame for every half FIFO consumed: few frames, and the writer always has the other
// half.
void PumpLink::queue_credits() {
  for (In& in : ins_) {
    const std::uint64_t consumed = in.filler.memory().consumed();
    const std::uint64_t step = std::max<std::uint64_t>(in.filler.memory().shape().slots / 2, 1);
    if (consumed - in.credited < step) continue;
    in.credited = consumed;
    queue(PumpFrame{.kind = PumpFrameKind::credit,
                    .edge_kind = in.key.kind,
                    .index = in.key.index,
                    .value = consumed});
  }
}

// Fills headers_ and parts_ with control frames first, then slots of every edge in turn.
void PumpLink::gather_batch() {
  part_ = part_count_ = batch_count_ = 0;
  control_batch_.clear();
  auto add = [&](const void* data, std::size_t bytes) {
    if (bytes > 0) parts_[part_count_++] = {const_cast<void*>(data), bytes};
  };
  while (batch_count_ < kPumpBatch && !controls_.empty()) {
    control_batch_.push_back(std::move(controls_.front()));
    controls_.pop_front();
    Control& control = control_batch_.back();
    control.header.bytes = static_cast<std::uint32_t>(control.payload.size());
    headers_[batch_count_] = control.header;
    add(&headers_[batch_count_++], sizeof(PumpFrame));
    add(control.payload.data(), control.payload.size());
  }
  for (std::size_t idle = 0; batch_count_ < kPumpBatch && idle < outs_.size();) {
    Out& out = outs_[next_out_++ % outs_.size()];
    const SlotHeader& slot = out.memory.header(out.sent);
    if (std::atomic_ref(const_cast<std::uint64_t&>(slot.flag)).load(std::memory_order_acquire) !=
        out.sent + 1) {
      ++idle;
      continue;
    }
    idle = 0;
    headers_[batch_count_] = {.kind = PumpFrameKind::data,
                              .edge_kind = out.key.kind,
                              .index = out.key.index,
                              .bytes = slot.bytes,
                              .value = out.sent,
                              .call = slot.call};
    add(&headers_[batch_count_++], sizeof(PumpFrame));
    add(out.memory.payload(out.sent, slot.bytes), slot.bytes);
    ++out.sent;
  }
}

Result<bool> PumpLink::send_some() {
  bool moved = false;
  if (deaf_) return false;
  for (;;) {
    if (batch_count_ == 0) gather_batch();
    if (batch_count_ == 0) return moved;
    const Moved went = wire_->send(std::span(parts_).subspan(part_, part_count_ - part_));
    if (went.over) deaf_ = true;
    if (went.bytes == 0) return moved;
    std::size_t sent = went.bytes;
    moved = true;
    while (sent > 0) {
      iovec& part = parts_[part_];
      const std::size_t step = std::min(part.iov_len, sent);
      part.iov_base = static_cast<std::byte*>(part.iov_base) + step;
      part.iov_len -= step;
      sent -= step;
      if (part.iov_len == 0) ++part_;
    }
    if (part_ == part_count_) batch_count_ = 0;
  }
}

Result<bool> PumpLink::receive_some() {
  bool moved = false;
  for (;;) {
    if (stage_first_ == stage_last_) stage_first_ = stage_last_ = 0;
    const bool direct = payload_left_ > 0 && stage_last_ == 0;
    const iovec parts[] = {{payload_, payload_left_},
                           {stage_.data() + stage_last_, stage_.size() - stage_last_}};
    const Moved got = wire_->receive(std::span(parts).subspan(direct ? 0 : 1));
    if (got.bytes == 0) {
      // The peer's end comes after what it has sent is used.
      if (!got.over || moved || closed_ || farewell_) return moved;
      if (got.reason != 0) return lost(got.reason);
      broken_ = true;
      return error(Code::remote, "rank {} is gone: it closed its connection", peer()).blame(peer());
    }
    moved = true;
    std::size_t left = got.bytes;
    if (direct) {
      const std::size_t used = std::min(left, payload_left_);
      payload_ += used;
      payload_left_ -= used;
      left -= used;
      if (payload_left_ == 0) GYRE_TRY(finish_payload());
    }
    const bool drained = left < stage_.size() - stage_last_;
    stage_last_ += left;
    GYRE_TRY(parse());
    if (drained) return moved;  // a short read: nothing more is there now
  }
}

// Consumes whole headers and what there is of payloads from the stage.
Status PumpLink::parse() {
  for (;;) {
    const std::size_t have = stage_last_ - stage_first_;
    if (payload_left_ > 0) {
      const std::size_t used = std::min(have, payload_left_);
      std::memcpy(payload_, stage_.data() + stage_first_, used);
      stage_first_ += used;
      payload_ += used;
      payload_left_ -= used;
      if (payload_left_ > 0) break;
      GYRE_TRY(finish_payload());
      continue;
    }
    if (have < sizeof(PumpFrame)) break;
    std::memcpy(&frame_, stage_.data() + stage_first_, sizeof(PumpFrame));
    stage_first_ += sizeof(PumpFrame);
    GYRE_TRY(accept_frame());
  }
  if (stage_first_ > 0) {
    std::memmove(stage_.data(), stage_.data() + stage_first_, stage_last_ - stage_first_);
    stage_last_ -= stage_first_;
    stage_first_ = 0;
  }
  return {};
}

PumpLink::In* PumpLink::find_in(const EdgeKey& key) {
  for (In& in : ins_)
    if (in.key == key) return &in;
  return nullptr;
}

// Trusts nothing: a peer of another version must not write past a slot.
Status PumpLink::accept_frame() {
  const EdgeKey key{frame_.edge_kind, frame_.index};
  auto refuse = [&](const char* why) {
    broken_ = true;
    return error(Code::remote, "rank {} sent a broken frame: {}", peer(), why).blame(peer());
  };
  switch (frame_.kind) {
    case PumpFrameKind::data: {
      frame_in_ = find_in(key);
      if (!frame_in_) return refuse("data for an edge that is not open");
      if (frame_.value != frame_in_->filler.step()) return refuse("a step out of order");
      const FifoMemory& memory = frame_in_->filler.memory();
      if (frame_.bytes > std::max(memory.shape().slot_bytes, kInlineBytes))
        return refuse("too long");
      if (!frame_in_->filler.can_send()) return refuse("no credit was left");
      payload_ = memory.payload(frame_.value, frame_.bytes);
      break;
    }
    case PumpFrameKind::credit:
      for (Out& out : outs_) {
        if (!(out.key == key)) continue;
        if (frame_.value > out.sent) return refuse("credit for slots never sent");
        if (frame_.value < out.memory.consumed()) return refuse("credit that goes back");
        std::atomic_ref(out.memory.consumed()).store(frame_.value, std::memory_order_release);
      }
      break;
    case PumpFrameKind::open:
      if (frame_.extra == 0 || frame_.extra > 4096 || frame_.value > (1u << 30))
        return refuse("impossible slots");
      opened_.push_back({key, {frame_.extra, static_cast<std::uint32_t>(frame_.value)}});
      break;
    case PumpFrameKind::farewell:
      if (frame_.bytes > kFarewellMax) return refuse("too long a farewell");
      text_.resize(frame_.bytes);
      payload_ = reinterpret_cast<std::byte*>(text_.data());
      break;
    case PumpFrameKind::bye:
      closed_ = true;
      break;
    default:
      return refuse("an unknown kind");
  }
  payload_left_ = frame_.bytes;
  if (payload_left_ > 0 && frame_.kind != PumpFrameKind::data &&
      frame_.kind != PumpFrameKind::farewell)
    return refuse("a payload where none belongs");
  return payload_left_ == 0 ? finish_payload() : Status();
}

Status PumpLink::finish_payload() {
  if (frame_.kind == PumpFrameKind::data) frame_in_->filler.commit(frame_.call, frame_.bytes);
  if (frame_.kind == PumpFrameKind::farewell)
    farewell_ = Farewell{static_cast<Code>(frame_.extra), static_cast<int>(frame_.value), text_};
  return {};
}

Result<PeerNews> PumpLink::check() {
  if (farewell_ || closed_) return PeerNews{closed_, farewell_};
  if (broken_) return lost(ECONNRESET);
  if (Status there = wire_->probe(); !there)
    return error(Code::remote, "rank {} is gone: {}", peer(), there.error().text).blame(peer());
  return PeerNews{};
}

void PumpLink::leave(const Farewell& farewell) {
  if (broken_) return;
  parted_in_failure_ = true;
  PumpFrame header{.kind = PumpFrameKind::farewell};
  header.extra = static_cast<std::uint32_t>(farewell.code);
  header.value = static_cast<std::uint64_t>(static_cast<std::int64_t>(farewell.culprit));
  queue(header, farewell.text.substr(0, kFarewellMax));
  (void)send_some();
}

std::unique_ptr<Link> make_pump_link(int peer, std::string name, std::unique_ptr<Wire> wire,
                                     std::uint64_t fifo_limit_bytes) {
  return std::make_unique<PumpLink>(peer, std::move(name), std::move(wire), fifo_limit_bytes);
}

}  // namespace gyre
