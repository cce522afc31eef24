#include "core/doorway.h"

#include "base/log.h"
#include "core/dialer.h"
#include "core/host.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace gyre {

namespace {

constexpr Nanos kStrangerLimit = 2_s;       // from accept to the end of the handshake
constexpr std::size_t kStrangersMax = 512;  // handshakes under way at one door
constexpr int kTurnMsMax = 20;              // bounds how late an abort or a parked caller is seen
constexpr Nanos kGoneAfter = 3_s;           // a door that refuses this long has no owner any more
constexpr Nanos kKnockAfter = 200_ms;       // from one look at those who should call to the next

std::string unix_name(const Token& token) {
  std::string out = "gyre-";
  for (const std::uint8_t byte : token) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace

struct Doorway::Incoming {
  Handshake handshake;
  Nanos since;
};

Result<PeerCard> unpack_card(std::span<const std::byte> bytes) {
  if (bytes.size() != sizeof(PeerCard))
    return error(Code::invalid_argument, "a card of {} bytes, expected {}", bytes.size(),
                 sizeof(PeerCard));
  PeerCard out;
  std::memcpy(static_cast<void*>(&out), bytes.data(), sizeof out);
  if (out.hostname.back() != 0)
    return error(Code::invalid_argument, "a card whose host name has no end");
  for (char& c : out.hostname)
    if (c != 0 && (c <= ' ' || c > '~')) c = '?';  // goes to terminals and logs
  GYRE_TRY_WHILE(Address::from_wire(out.tcp), "reading a card");
  return out;
}

bool same_host(const PeerCard& a, const PeerCard& b) { return a.host == b.host; }

std::string where_text(const PeerCard& card) {
  const auto tcp = Address::from_wire(card.tcp);
  return fmt::format("host {} pid {} at {}", card.hostname.data(), card.pid,
                     tcp ? tcp->text() : "no address");
}

Result<std::shared_ptr<Doorway>> Doorway::open(const Key& job_key, const Address& local) {
  Listener tcp = GYRE_TRY_WHILE(Listener::open(local), "opening this rank's door");
  Token token;
  fill_random(token);
  Listener door;
  if (auto opened = Listener::open(Address::abstract_unix(unix_name(token))))
    door = *std::move(opened);
  else
    GYRE_LOG(warn, "no unix socket, so no shared memory: {}", opened.error().text);
  std::shared_ptr<Doorway> out(new Doorway(job_key, std::move(tcp), std::move(door)));
  PeerCard& card = out->card_;
  card.pid = ::getpid();
  card.uid = ::getuid();
  card.has_unix = out->unix_.fd() >= 0;
  card.host = host_identity();
  card.netns = network_namespace();
  card.token = token;
  card.tcp = out->tcp_.local().to_wire();
  host_name().copy(card.hostname.data(), card.hostname.size() - 1);
  return out;
}

Doorway::Doorway(const Key& job_key, Listener tcp, Listener local)
    : key_(job_key), tcp_(std::move(tcp)), unix_(std::move(local)) {}

Doorway::~Doorway() = default;

// Takes who waits at the door, moves all handshakes on, parks those that are through.
Status Doorway::serve() {
  for (Listener* door : {&tcp_, &unix_}) {
    while (door->fd() >= 0 && incoming_.size() < kStrangersMax) {
      std::optional<Socket> caller = GYRE_TRY(door->accept());
      if (!caller) break;
      Hello mine;
      mine.token = card_.token;
      incoming_.push_back({Handshake::answer(*std::move(caller), key_, mine), now_ns()});
    }
  }
  for (auto one = incoming_.begin(); one != incoming_.end();) {
    const std::string from = one->handshake.socket().remote().host_text();
    const Handshake::State state = one->handshake.step();
    std::string reason;
    if (state == Handshake::State::done && one->handshake.peer().purpose == Purpose::probe) {
      // It knows now that this door has an owner.
    } else if (state == Handshake::State::done) {
      const Hello& hello = one->handshake.peer();
      const CallerKey key{hello.comm, static_cast<std::uint16_t>(hello.purpose), hello.lane,
                          hello.rank};
      parked_[key] = {hello.rank, one->handshake.take_socket(), one->handshake.session_key()};
    } else if (state == Handshake::State::failed) {
      // Who knocks and goes without a word is no stranger: see Meeting::knock().
      const Error why = one->handshake.take_error();
      if (why.code != Code::remote) reason = why.text;
    } else if (now_ns() - one->since > kStrangerLimit) {
      reason = "no handshake in time";
    } else {
      ++one;
      continue;
    }
    if (!reason.empty() && log_first("stranger at doorway " + from))
      GYRE_LOG(warn, "dropped a stranger: {} (further ones from {} are not logged)", reason, from);
    one = incoming_.erase(one);
  }
  return {};
}

bool Doorway::take_parked(const Call& call, Connection& into) {
  const CallerKey key{call.comm, static_cast<std::uint16_t>(call.purpose), call.lane, into.rank};
  const auto found = parked_.find(key);
  if (found == parked_.end()) return false;
  // Its caller may have closed it by now. It will not call again, so the end of the stream is the
  // news.
  into = std::move(found->second);
  parked_.erase(found);
  return true;
}

// One connect() call: what is still missing, and the calls it keeps up itself.
class Doorway::Meeting {
 public:
  Meeting(Doorway& door, const Call& call, std::span<const Peer> peers)
      : door_(door), call_(call), peers_(peers), out_(peers.size()), dials_(peers.size()) {}

  Result<std::vector<Connection>> run(const Until& until) {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      out_[i].rank = peers_[i].rank;
      if (call_.rank > peers_[i].rank)
        dials_[i] = GYRE_TRY(dial(i, call_.purpose));
      else
        ++answers_missing_;
    }
    missing_ = peers_.size();
    for (;;) {
      GYRE_TRY(turn());
      if (missing_ == 0) return std::move(out_);
      if (until.aborted()) return error(Code::aborted, "aborted while connecting");
      if (until.passed()) return silence();
      if (wait(until)) return error(Code::remote, "told to stop while connecting");
    }
  }

 private:
  // `purpose` probe: only to learn whether the door has an owner.
  Result<Dialer> dial(std::size_t i, Purpose purpose) const {
    const PeerCard& card = peers_[i].card;
    const PeerCard& own = door_.card_;
    std::vector<Address> targets;
    const bool one_netns = card.netns == own.netns || card.netns == 0 || own.netns == 0;
    if (!call_.tcp_only && same_host(card, own) && card.has_unix && own.has_unix && one_netns)
      targets.push_back(Address::abstract_unix(unix_name(card.token)));
    Address tcp = GYRE_TRY_WHILE(Address::from_wire(card.tcp), "calling rank {}", peers_[i].rank);
    // The scope in a card is its own host's; a link-local peer is on the link our own door is on.
    if (tcp.is_link_local()) tcp = tcp.with_scope(door_.tcp_.local().scope());
    targets.push_back(tcp);
    Hello mine;
    mine.purpose = purpose;
    mine.rank = call_.rank;
    mine.comm = call_.comm;
    mine.lane = call_.lane;
    mine.token = own.token;
    return Dialer(std::move(targets), door_.key_, mine, card.token);
  }

  Status turn() {
    if (answers_missing_ > 0) {
      GYRE_TRY(turn_answers());
      GYRE_TRY(knock());
    }
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (!dials_[i]) continue;
      if (dials_[i]->step()) {
        Greeted greeted = dials_[i]->take();
        out_[i] = {peers_[i].rank, std::move(greeted.socket), greeted.session_key};
        dials_[i].reset();
        --missing_;
      } else if (dials_[i]->refused_for() > kGoneAfter) {
        return blame(i, Code::remote, "is gone");
      }
    }
    return {};
  }

  // Who should call us may be dead: looks in on one after the other. A door that takes the call has
  // an owner, even if he is too busy to answer.
  Status knock() {
    if (knock_ && !knock_->step()) {
      if (knock_->refused_for() > kGoneAfter)
        return error(Code::remote, "rank {} ({}) is gone: {}", peers_[knocked_].rank,
                     where_text(peers_[knocked_].card), knock_->trouble())
            .blame(peers_[knocked_].rank);
      if (knock_->refused_for() > 0 && !out_[knocked_].socket) return {};
    }
    if (now_ns() < next_knock_) return {};
    next_knock_ = now_ns() + kKnockAfter;
    knock_.reset();
    for (std::size_t k = 1; k <= peers_.size(); ++k) {
      const std::size_t i = (knocked_ + k) % peers_.size();
      if (out_[i].socket || call_.rank > peers_[i].rank) continue;
      knocked_ = i;
      knock_ = GYRE_TRY(dial(i, Purpose::probe));
      break;
    }
    return {};
  }

  Status turn_answers() {
    std::lock_guard lock(door_.mutex_);
    GYRE_TRY(door_.serve());
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (dials_[i] || out_[i].socket || call_.rank > peers_[i].rank) continue;
      if (!door_.take_parked(call_, out_[i])) continue;
      --missing_;
      --answers_missing_;
    }
    return {};
  }

  // True when an alarm has come.
  bool wait(const Until& until) {
    std::vector<pollfd> entries;
    for (const int alarm : call_.alarms) entries.push_back({alarm, POLLIN, 0});
    Nanos due = std::min(until.deadline, now_ns() + Nanos{kTurnMsMax} * 1'000'000);
    if (answers_missing_ > 0) {
      std::lock_guard lock(door_.mutex_);
      entries.push_back({door_.tcp_.fd(), POLLIN, 0});
      entries.push_back({door_.unix_.fd(), POLLIN, 0});
      for (const Incoming& one : door_.incoming_)
        entries.push_back({one.handshake.fd(), one.handshake.poll_events(), 0});
    }
    for (const auto& dial : dials_) {
      if (!dial) continue;
      entries.push_back(dial->poll_entry());
      due = std::min(due, dial->next_due());
    }
    // What poll says of the rest is not used: another thread may have served them meanwhile.
    ::poll(entries.data(), entries.size(), poll_timeout_ms(due));
    return std::any_of(entries.begin(), entries.begin() + std::ssize(call_.alarms),
                       [](const pollfd& entry) { return entry.revents != 0; });
  }

  Error blame(std::size_t i, Code code, std::string_view what) const {
    return error(code, "rank {} ({}) {}: {}", peers_[i].rank, where_text(peers_[i].card), what,
                 dials_[i] ? dials_[i]->trouble() : std::string("it has not called"))
        .blame(peers_[i].rank);
  }

  // The deadline has passed: the first peer that is missing stands for all.
  Error silence() const {
    for (std::size_t i = 0; i < peers_.size(); ++i)
      if (!out_[i].socket)
        return blame(i, Code::timeout,
                     missing_ == 1
                         ? "did not connect in time"
                         : fmt::format("and {} more did not connect in time", missing_ - 1));
    return error(Code::internal, "nobody is missing");
  }

  Doorway& door_;
  const Call& call_;
  const std::span<const Peer> peers_;
  std::vector<Connection> out_;
  std::vector<std::optional<Dialer>>
      dials_;  // by peer; empty for those who call us, and when through
  std::size_t missing_ = 0;
  std::size_t answers_missing_ = 0;
  std::optional<Dialer> knock_;  // at the door of peers_[knocked_]
  std::size_t knocked_ = 0;
  Nanos next_knock_ = now_ns() + kKnockAfter;
};

Result<std::vector<Connection>> Doorway::connect(const Call& call, std::span<const Peer> peers,
                                                 Nanos deadline, const std::atomic<bool>& abort) {
  return Meeting(*this, call, peers).run({deadline, &abort});
}

}  // namespace gyre
