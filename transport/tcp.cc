#include "transport/tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <vector>

#include "base/log.h"
#include "base/param.h"

namespace gyre {

GYRE_PARAM(tcp_congestion, std::string, "auto",
           "TCP congestion control of data sockets; auto replaces bbr, whose pacing starves short "
           "bursts, by cubic or reno; system leaves it alone");

namespace {

enum class FrameKind : std::uint16_t { data = 0x6401, credit, open, farewell, bye };

// Little-endian hosts alone are supported (checked by the handshake's version).
struct FrameHeader {
  FrameKind kind;
  EdgeKind edge_kind;
  std::uint8_t unused;
  std::uint16_t index;
  std::uint16_t unused2;
  std::uint32_t bytes;  // that follow
  std::uint32_t extra;  // open: slots; farewell: code
  std::uint64_t value;  // data: step; credit: slots consumed; open: slot_bytes; farewell: culprit
  CallSignature call;
};
static_assert(sizeof(FrameHeader) == 40);

constexpr std::size_t kBatch = 16;             // frames per system call
constexpr std::size_t kStageBytes = 64 << 10;  // read-ahead for headers and short payloads
constexpr std::uint32_t kFarewellMax = 1024;
constexpr std::uint32_t kSilentMs = 5000;      // unacknowledged for so long: the host is gone

class TcpLink final : public Link {
 public:
  TcpLink(int peer, Fd socket, std::uint64_t limit)
      : Link(peer), socket_(std::move(socket)), limit_bytes_(limit), stage_(kStageBytes) {}
  ~TcpLink() override {
    if (broken_) return;
    queue(FrameHeader{.kind = FrameKind::bye});
    (void)send_some();  // a full socket means a peer that has long stopped reading
  }

  const char* name() const override { return "tcp"; }
  Result<FifoReader> incoming(const EdgeKey& key, const FifoShape& shape) override;
  Result<std::optional<FifoWriter>> outgoing(const EdgeKey& key, const FifoShape& shape) override;
  Result<bool> turn() override;
  bool flushed() const override;
  Result<PeerNews> check() override;
  void leave(const Farewell& farewell) override;
  int wait_descriptor() const override {
    return closed_ || broken_ || farewell_ ? -1 : socket_.get();
  }
  short wait_events() const override {
    return static_cast<short>(POLLIN | (batch_count_ > 0 ? POLLOUT : 0));
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
    FrameHeader header;
    std::string payload;
  };

  Result<Mapping> storage(const FifoShape& shape);
  void queue(const FrameHeader& header, std::string payload = {}) {
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

  Fd socket_;
  std::uint64_t limit_bytes_;
  std::uint64_t bytes_ = 0;
  bool broken_ = false;
  bool deaf_ = false;    // the peer takes nothing more; what it sent before may still be read
  bool closed_ = false;  // the peer said bye
  std::optional<Farewell> farewell_;

  // Deques: FIFO views point into their elements' storage; growth must not move the counters.
  std::deque<Out> outs_;
  std::deque<In> ins_;
  std::vector<Opened> opened_;  // by the peer, not yet asked for here

  // Sending: one batch of frames at a time; parts_ are consumed from the front.
  std::deque<Control> controls_;
  std::deque<Control> control_batch_;
  std::array<FrameHeader, kBatch> headers_;
  std::array<iovec, 2 * kBatch> parts_;
  std::size_t part_ = 0, part_count_ = 0, batch_count_ = 0, next_out_ = 0;

  // Receiving: stage_[stage_first_, stage_last_) is unparsed; then a payload may be under way.
  std::vector<std::byte> stage_;
  std::size_t stage_first_ = 0, stage_last_ = 0;
  FrameHeader frame_{};
  In* frame_in_ = nullptr;
  std::byte* payload_ = nullptr;
  std::size_t payload_left_ = 0;
  std::string text_;  // payload of a farewell
};

Error TcpLink::lost(int reason) {
  broken_ = true;
  return error(Code::remote, "connection to rank {} broke", peer()).because(reason).blame(peer());
}

Result<Mapping> TcpLink::storage(const FifoShape& shape) {
  const std::size_t bytes = fifo_bytes(shape);
  if (bytes_ + bytes > limit_bytes_)
    return error(Code::system, "FIFO memory to rank {} would pass {} (GYRE_FIFO_LIMIT)", peer(),
                 bytes_text(limit_bytes_));
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return error(Code::system, "mmap of {} B", bytes).because(errno);
  bytes_ += bytes;
  return Mapping(address, bytes);
}

Result<FifoReader> TcpLink::incoming(const EdgeKey& key, const FifoShape& shape) {
  Mapping memory = GYRE_TRY(storage(shape));
  const FifoMemory view(memory.data(), shape);
  ins_.push_back({key, FifoWriter(view), std::move(memory)});
  queue(FrameHeader{.kind = FrameKind::open, .edge_kind = key.kind, .index = key.index,
                    .extra = shape.slots, .value = shape.slot_bytes});
  GYRE_TRY(turn());
  return FifoReader(view);
}

Result<std::optional<FifoWriter>> TcpLink::outgoing(const EdgeKey& key, const FifoShape& shape) {
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

bool TcpLink::flushed() const {
  if (deaf_) return true;
  if (batch_count_ > 0 || !controls_.empty()) return false;
  for (const Out& out : outs_)
    if (out.memory.header(out.sent).flag == out.sent + 1) return false;
  return true;
}

Result<bool> TcpLink::turn() {
  if (broken_) return lost(ECONNRESET);
  queue_credits();
  const bool sent = GYRE_TRY(send_some());
  const bool received = GYRE_TRY(receive_some());
  return sent || received;
}

// A credit frame for every half FIFO consumed: few frames, and the writer always has the other half.
void TcpLink::queue_credits() {
  for (In& in : ins_) {
    const std::uint64_t consumed = in.filler.memory().consumed();
    const std::uint64_t step = std::max<std::uint64_t>(in.filler.memory().shape().slots / 2, 1);
    if (consumed - in.credited < step) continue;
    in.credited = consumed;
    queue(FrameHeader{.kind = FrameKind::credit, .edge_kind = in.key.kind, .index = in.key.index,
                      .value = consumed});
  }
}

// Fills headers_ and parts_ with control frames first, then slots of every edge in turn.
void TcpLink::gather_batch() {
  part_ = part_count_ = batch_count_ = 0;
  control_batch_.clear();
  auto add = [&](const void* data, std::size_t bytes) {
    if (bytes > 0) parts_[part_count_++] = {const_cast<void*>(data), bytes};
  };
  while (batch_count_ < kBatch && !controls_.empty()) {
    control_batch_.push_back(std::move(controls_.front()));
    controls_.pop_front();
    Control& control = control_batch_.back();
    control.header.bytes = static_cast<std::uint32_t>(control.payload.size());
    headers_[batch_count_] = control.header;
    add(&headers_[batch_count_++], sizeof(FrameHeader));
    add(control.payload.data(), control.payload.size());
  }
  for (std::size_t idle = 0; batch_count_ < kBatch && idle < outs_.size();) {
    Out& out = outs_[next_out_++ % outs_.size()];
    const SlotHeader& slot = out.memory.header(out.sent);
    if (std::atomic_ref(const_cast<std::uint64_t&>(slot.flag)).load(std::memory_order_acquire) != out.sent + 1) {
      ++idle;
      continue;
    }
    idle = 0;
    headers_[batch_count_] = {.kind = FrameKind::data, .edge_kind = out.key.kind,
                              .index = out.key.index, .bytes = slot.bytes, .value = out.sent,
                              .call = slot.call};
    add(&headers_[batch_count_++], sizeof(FrameHeader));
    add(out.memory.payload(out.sent, slot.bytes), slot.bytes);
    ++out.sent;
  }
}

Result<bool> TcpLink::send_some() {
  bool moved = false;
  if (deaf_) return false;
  for (;;) {
    if (batch_count_ == 0) gather_batch();
    if (batch_count_ == 0) return moved;
    msghdr message{};
    message.msg_iov = &parts_[part_];
    message.msg_iovlen = part_count_ - part_;
    ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EAGAIN || errno == EINTR) return moved;
      deaf_ = true;
      return moved;
    }
    moved = true;
    while (sent > 0) {
      iovec& part = parts_[part_];
      const std::size_t step = std::min(part.iov_len, static_cast<std::size_t>(sent));
      part.iov_base = static_cast<std::byte*>(part.iov_base) + step;
      part.iov_len -= step;
      sent -= static_cast<ssize_t>(step);
      if (part.iov_len == 0) ++part_;
    }
    if (part_ == part_count_) batch_count_ = 0;
  }
}

Result<bool> TcpLink::receive_some() {
  bool moved = false;
  for (;;) {
    if (stage_first_ == stage_last_) stage_first_ = stage_last_ = 0;
    std::array<iovec, 2> parts;
    int count = 0;
    const bool direct = payload_left_ > 0 && stage_last_ == 0;
    if (direct) parts[static_cast<std::size_t>(count++)] = {payload_, payload_left_};
    parts[static_cast<std::size_t>(count++)] = {stage_.data() + stage_last_, stage_.size() - stage_last_};
    const ssize_t got = readv(socket_.get(), parts.data(), count);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return moved;
    if (got <= 0 && moved) return moved;  // the peer's end comes after what it has sent is used
    if (got < 0) return lost(errno);
    if (got == 0) {
      if (closed_ || farewell_) return moved;
      broken_ = true;
      return error(Code::remote, "rank {} is gone: it closed its connection", peer()).blame(peer());
    }
    moved = true;
    std::size_t left = static_cast<std::size_t>(got);
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
Status TcpLink::parse() {
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
    if (have < sizeof(FrameHeader)) break;
    std::memcpy(&frame_, stage_.data() + stage_first_, sizeof(FrameHeader));
    stage_first_ += sizeof(FrameHeader);
    GYRE_TRY(accept_frame());
  }
  if (stage_first_ > 0) {
    std::memmove(stage_.data(), stage_.data() + stage_first_, stage_last_ - stage_first_);
    stage_last_ -= stage_first_;
    stage_first_ = 0;
  }
  return {};
}

TcpLink::In* TcpLink::find_in(const EdgeKey& key) {
  for (In& in : ins_)
    if (in.key == key) return &in;
  return nullptr;
}

// Trusts nothing: a peer of another version must not write past a slot.
Status TcpLink::accept_frame() {
  const EdgeKey key{frame_.edge_kind, frame_.index};
  auto refuse = [&](const char* why) {
    broken_ = true;
    return error(Code::remote, "rank {} sent a broken frame: {}", peer(), why).blame(peer());
  };
  switch (frame_.kind) {
    case FrameKind::data: {
      frame_in_ = find_in(key);
      if (!frame_in_) return refuse("data for an edge that is not open");
      if (frame_.value != frame_in_->filler.step()) return refuse("a step out of order");
      const FifoMemory& memory = frame_in_->filler.memory();
      if (frame_.bytes > std::max(memory.shape().slot_bytes, kInlineBytes)) return refuse("too long");
      if (!frame_in_->filler.can_send()) return refuse("no credit was left");
      payload_ = memory.payload(frame_.value, frame_.bytes);
      break;
    }
    case FrameKind::credit:
      for (Out& out : outs_) {
        if (!(out.key == key)) continue;
        if (frame_.value > out.sent) return refuse("credit for slots never sent");
        std::atomic_ref(out.memory.consumed()).store(frame_.value, std::memory_order_release);
      }
      break;
    case FrameKind::open:
      if (frame_.extra == 0 || frame_.extra > 4096 || frame_.value > (1u << 30))
        return refuse("impossible slots");
      opened_.push_back({key, {frame_.extra, static_cast<std::uint32_t>(frame_.value)}});
      break;
    case FrameKind::farewell:
      if (frame_.bytes > kFarewellMax) return refuse("too long a farewell");
      text_.resize(frame_.bytes);
      payload_ = reinterpret_cast<std::byte*>(text_.data());
      break;
    case FrameKind::bye: closed_ = true; break;
    default: return refuse("an unknown kind");
  }
  payload_left_ = frame_.bytes;
  if (payload_left_ > 0 && frame_.kind != FrameKind::data && frame_.kind != FrameKind::farewell)
    return refuse("a payload where none belongs");
  return payload_left_ == 0 ? finish_payload() : Status();
}

Status TcpLink::finish_payload() {
  if (frame_.kind == FrameKind::data) frame_in_->filler.commit(frame_.call, frame_.bytes);
  if (frame_.kind == FrameKind::farewell)
    farewell_ = Farewell{static_cast<Code>(frame_.extra), static_cast<int>(frame_.value), text_};
  return {};
}

Result<PeerNews> TcpLink::check() {
  if (farewell_ || closed_) return PeerNews{closed_, farewell_};
  if (broken_) return lost(ECONNRESET);
  tcp_info info{};
  socklen_t length = sizeof info;
  if (getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
      info.tcpi_unacked > 0 && info.tcpi_last_ack_recv > kSilentMs && info.tcpi_backoff > 0)
    return error(Code::remote, "rank {}'s host has acknowledged nothing for {} ms", peer(),
                 info.tcpi_last_ack_recv)
        .blame(peer());
  return PeerNews{};
}

void TcpLink::leave(const Farewell& farewell) {
  if (broken_) return;
  FrameHeader header{.kind = FrameKind::farewell};
  header.extra = static_cast<std::uint32_t>(farewell.code);
  header.value = static_cast<std::uint64_t>(static_cast<std::int64_t>(farewell.culprit));
  queue(header, farewell.text.substr(0, kFarewellMax));
  (void)send_some();
}

void choose_congestion_control(int socket) {
  const std::string& wish = param_tcp_congestion.get();
  if (wish == "system") return;
  char current[16] = {};
  socklen_t length = sizeof current;
  if (getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, current, &length) != 0) return;
  auto set = [&](const std::string& name) {
    return setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
  };
  if (wish == "auto") {
    if (std::string_view(current) == "bbr" && !set("cubic")) (void)set("reno");
    return;
  }
  if (!set(wish) && log_first("congestion " + wish))
    GYRE_LOG(warn, "TCP congestion control {} refused: {}", wish, std::strerror(errno));
}

}  // namespace

Result<std::unique_ptr<Link>> make_tcp_link(int peer, Fd socket, std::uint64_t fifo_limit_bytes) {
  const int on = 1, idle_s = 2, interval_s = 1, probes = 3;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  choose_congestion_control(socket.get());
  return std::unique_ptr<Link>(std::make_unique<TcpLink>(peer, std::move(socket), fifo_limit_bytes));
}

}  // namespace gyre
