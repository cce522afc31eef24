#include "transport/chaos.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "base/log.h"
#include "base/units.h"
#include "transport/desk.h"

namespace gyre {

GYRE_PARAM(
    chaos, Chaos, {},
    "seeded faults on every link, for tests: seed=7,delay=50us,short=100,cut=5000 holds back "
    "what arrives, makes reads and writes short, breaks links");

Status parse_param(std::string_view text, Chaos& out) {
  std::vector<std::string_view> seen;
  for (bool more = !text.empty(); more;) {
    const std::string_view item = text.substr(0, text.find(','));
    more = item.size() < text.size();
    text.remove_prefix(item.size() + more);
    const std::string_view key = item.substr(0, item.find('='));
    const std::string_view value = item.substr(std::min(item.size(), key.size() + 1));
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      return error(Code::invalid_usage, "'{}' stands twice", key);
    seen.push_back(key);
    if (key == "delay") {
      out.delay = GYRE_TRY(parse_duration(value));
    } else if (key == "short") {
      out.short_bytes = GYRE_TRY(parse_bytes(value));
    } else if (key == "seed" || key == "cut") {
      std::uint64_t& number = key == "cut" ? out.cut : out.seed;
      const char* end = value.data() + value.size();
      const auto [stop, problem] = std::from_chars(value.data(), end, number);
      if (problem != std::errc() || stop != end)
        return error(Code::invalid_usage, "expected a whole number after '{}='", key);
    } else {
      return error(Code::invalid_usage, "'{}' is none of seed=, delay=, short=, cut=", item);
    }
  }
  return {};
}

std::string param_text(const Chaos& chaos) {
  if (!chaos.active()) return "";
  return fmt::format("seed={},delay={}ns,short={},cut={}", chaos.seed, chaos.delay,
                     chaos.short_bytes, chaos.cut);
}

namespace {

class Dice {
 public:
  Dice(const Chaos& chaos, std::uint64_t salt) : engine_(chaos.seed * 1'000'003 + salt) {}
  // 0 .. limit-1
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  // How many transfers a link lives for; 0: for ever.
  std::uint64_t life(const Chaos& chaos) { return chaos.cut == 0 ? 0 : 1 + below(chaos.cut); }

 private:
  std::mt19937_64 engine_;
};

class ChaosWire final : public Wire {
 public:
  ChaosWire(std::unique_ptr<Wire> inner, const Chaos& chaos, std::uint64_t salt)
      : inner_(std::move(inner)), chaos_(chaos), dice_(chaos, salt), life_(dice_.life(chaos)) {}

  Moved send(std::span<const iovec> parts) override {
    return attempt(parts, [this](auto some) { return inner_->send(some); });
  }
  Moved receive(std::span<const iovec> parts) override {
    // Never so for send(): who leaves may have but one chance to say good-bye.
    if (chaos_.short_bytes > 0 && dice_.below(4) == 0) return {};
    return attempt(parts, [this](auto some) { return inner_->receive(some); });
  }
  Status probe() override {
    return inner_ ? inner_->probe() : Status(error(Code::remote, "GYRE_CHAOS cut the connection"));
  }
  bool arrived() const override { return !inner_ || inner_->arrived(); }
  int descriptor() const override { return inner_ ? inner_->descriptor() : -1; }
  int send_descriptor() const override { return inner_ ? inner_->send_descriptor() : -1; }

 private:
  template <class Try>
  Moved attempt(std::span<const iovec> parts, Try inner) {
    if (!inner_) return {.over = true, .reason = ECONNABORTED};
    const Moved moved = inner(shortened(parts));
    if (moved.bytes > 0 && life_ > 0 && --life_ == 0) inner_.reset();
    return moved;
  }
  std::span<const iovec> shortened(std::span<const iovec> parts);

  std::unique_ptr<Wire> inner_;  // null once cut
  Chaos chaos_;
  Dice dice_;
  std::uint64_t life_;
  std::vector<iovec> some_;
};

std::span<const iovec> ChaosWire::shortened(std::span<const iovec> parts) {
  if (chaos_.short_bytes == 0) return parts;
  std::size_t room = 1 + dice_.below(chaos_.short_bytes);
  some_.clear();
  for (iovec part : parts) {
    if (room == 0) break;
    part.iov_len = std::min(part.iov_len, room);
    room -= part.iov_len;
    some_.push_back(part);
  }
  return some_;
}

// The reader sees a FIFO of this link's own. Slots of the inner FIFO are copied there in their
// time, credits go back in theirs; both FIFOs have the same slots, so the writer gets no further
// than ever.
class ChaosLink final : public Link {
 public:
  ChaosLink(std::unique_ptr<Link> inner, const Chaos& chaos, std::uint64_t salt)
      : Link(inner->peer()), inner_(std::move(inner)), chaos_(chaos), dice_(chaos, salt) {
    life_ = inner_->bell() ? dice_.life(chaos) : 0;
  }

  const char* name() const override { return inner_->name(); }
  Result<FifoReader> incoming(const EdgeKey& key, const FifoShape& shape) override;
  Result<std::optional<FifoWriter>> outgoing(const EdgeKey& key, const FifoShape& shape) override {
    GYRE_TRY(whole());
    return inner_->outgoing(key, shape);
  }
  Result<bool> turn() override;
  bool flushed() const override { return inner_->flushed(); }
  Status announce(const RegionRef& region) override { return inner_->announce(region); }
  bool can_map() const override { return inner_->can_map(); }
  Result<std::byte*> map(const RemoteRange& range) override { return inner_->map(range); }
  bool can_pull() const override { return inner_->can_pull(); }
  Status pull(void* target, std::uint64_t source, std::size_t bytes) override {
    return inner_->pull(target, source, bytes);
  }
  bool borrow() override { return inner_->borrow(); }
  void give_back() override { inner_->give_back(); }
  std::uint32_t touches() const override { return inner_->touches(); }
  Result<PeerNews> check() override;
  void leave(const Farewell& farewell) override { inner_->leave(farewell); }
  void watch(std::vector<pollfd>& into) const override { inner_->watch(into); }

 private:
  struct Held {
    FifoMemory inner;
    FifoWriter filler;
    Mapping storage;
    std::uint64_t taken = 0;     // slots copied over
    std::uint64_t credited = 0;  // slots given back
    Nanos slot_due = 0, credit_due = 0;
  };
  static bool has_slot(const Held& held) {
    // pairs with FifoWriter::commit()
    return std::atomic_ref(held.inner.header(held.taken).flag).load(std::memory_order_acquire) ==
           held.taken + 1;
  }
  bool holds_something() const { return std::any_of(held_.begin(), held_.end(), has_slot); }
  // True when the time that `due` stands for has come; begins a new one when none was set.
  bool ripe(Nanos& due, Nanos now);
  bool pass_slots(Held& held, Nanos now);
  bool pass_credits(Held& held, Nanos now);
  Status whole() const {
    if (!cut_) return {};
    return error(Code::remote, "connection to rank {} broke: GYRE_CHAOS cut it", peer())
        .blame(peer());
  }

  std::unique_ptr<Link> inner_;
  Chaos chaos_;
  Dice dice_;
  std::uint64_t life_ = 0;
  bool cut_ = false;
  std::deque<Held> held_;
};

Result<FifoReader> ChaosLink::incoming(const EdgeKey& key, const FifoShape& shape) {
  GYRE_TRY(whole());
  const FifoReader inner = GYRE_TRY(inner_->incoming(key, shape));
  Mapping storage = GYRE_TRY(private_fifo(shape));
  const FifoMemory view(storage.data(), shape);
  held_.push_back({inner.memory(), FifoWriter(view), std::move(storage)});
  return FifoReader(view);
}

bool ChaosLink::ripe(Nanos& due, Nanos now) {
  if (due == 0)
    due = now + static_cast<Nanos>(dice_.below(static_cast<std::uint64_t>(chaos_.delay) + 1));
  if (now < due) return false;
  due = 0;
  return true;
}

bool ChaosLink::pass_slots(Held& held, Nanos now) {
  bool moved = false;
  while (has_slot(held) && ripe(held.slot_due, now)) {
    const SlotHeader& header = held.inner.header(held.taken);
    GYRE_CHECK(held.filler.can_send());
    std::memcpy(held.filler.payload(header.bytes), held.inner.payload(held.taken, header.bytes),
                header.bytes);
    held.filler.commit(header.call, header.bytes);
    ++held.taken;
    moved = true;
    if (life_ > 0 && --life_ == 0) cut_ = true;
  }
  return moved;
}

bool ChaosLink::pass_credits(Held& held, Nanos now) {
  // pairs with FifoReader::release(), of the executor on our FIFO
  const std::uint64_t consumed =
      std::atomic_ref(held.filler.memory().consumed()).load(std::memory_order_acquire);
  if (consumed == held.credited || !ripe(held.credit_due, now)) return false;
  held.credited = consumed;
  // pairs with FifoWriter::can_send(), of the peer
  std::atomic_ref(held.inner.consumed()).store(consumed, std::memory_order_release);
  return true;
}

Result<bool> ChaosLink::turn() {
  GYRE_TRY(whole());
  Result<bool> turned = inner_->turn();
  bool moved = turned && *turned;
  const Nanos now = now_ns();
  const std::size_t first = held_.empty() ? 0 : dice_.below(held_.size());
  for (std::size_t i = 0; i < held_.size(); ++i) {
    Held& held = held_[(first + i) % held_.size()];
    moved |= pass_credits(held, now);
    moved |= pass_slots(held, now);
  }
  // The executor rings no bell on a posted link: what it wrote since the last turn is told here.
  if (Bell* bell = inner_->bell()) ring_bell(*bell);
  // The end of the inner link comes after what it brought has been handed on.
  if (!turned && !moved && !holds_something()) return turned.take_error();
  return moved;
}

Result<PeerNews> ChaosLink::check() {
  GYRE_TRY(whole());
  if (holds_something()) return PeerNews{};
  return inner_->check();
}

// GYRE_CHAOS.
const Chaos& chaos_knob() {
  const Chaos& chaos = param_chaos.get();
  if (chaos.active() && log_first("chaos"))
    GYRE_LOG(warn, "GYRE_CHAOS is set: links misbehave on purpose ({})", param_text(chaos));
  return chaos;
}

}  // namespace

std::unique_ptr<Wire> make_chaos_wire(std::unique_ptr<Wire> inner, const Chaos& chaos,
                                      std::uint64_t salt) {
  return std::make_unique<ChaosWire>(std::move(inner), chaos, salt);
}

std::unique_ptr<Link> make_chaos_link(std::unique_ptr<Link> inner, const Chaos& chaos,
                                      std::uint64_t salt) {
  return std::make_unique<ChaosLink>(std::move(inner), chaos, salt);
}

std::unique_ptr<Wire> with_chaos(std::unique_ptr<Wire> inner, std::uint64_t salt) {
  const Chaos& chaos = chaos_knob();
  return chaos.active() ? make_chaos_wire(std::move(inner), chaos, salt) : std::move(inner);
}

std::unique_ptr<Link> with_chaos(std::unique_ptr<Link> inner, std::uint64_t salt) {
  const Chaos& chaos = chaos_knob();
  return chaos.active() ? make_chaos_link(std::move(inner), chaos, salt) : std::move(inner);
}

}  // namespace gyre
