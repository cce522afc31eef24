#include "core/doorway.h"

#include "base/log.h"
#include "core/host.h"
#include "core/meeting.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace gyre {

namespace {

constexpr Nanos kStrangerLimit = 2_s;       // from accept to the end of the handshake
constexpr std::size_t kStrangersMax = 512;  // handshakes under way at one door

}  // namespace

Address unix_door(const Token& token) {
  std::string name = "gyre-";
  for (const std::uint8_t byte : token) name += fmt::format("{:02x}", byte);
  return Address::abstract_unix(name);
}

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
  if (auto opened = Listener::open(unix_door(token)))
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

std::optional<Connection> Doorway::take_parked(const Call& call, int rank) {
  const CallerKey key{call.comm, static_cast<std::uint16_t>(call.purpose), call.lane, rank};
  const auto found = parked_.find(key);
  if (found == parked_.end()) return std::nullopt;
  // Its caller may have closed it by now. It will not call again, so the end of the stream is the
  // news.
  Connection out = std::move(found->second);
  parked_.erase(found);
  return out;
}

void Doorway::watch(std::vector<pollfd>& entries) const {
  entries.push_back({tcp_.fd(), POLLIN, 0});
  entries.push_back({unix_.fd(), POLLIN, 0});
  for (const Incoming& one : incoming_)
    entries.push_back({one.handshake.fd(), one.handshake.poll_events(), 0});
}

Result<std::vector<Connection>> Doorway::connect(const Call& call, std::span<const Peer> peers,
                                                 Nanos deadline, const std::atomic<bool>& abort) {
  std::vector<Connection> out(peers.size());
  Meeting meeting(*this, call, {peers.begin(), peers.end()});
  for (;;) {
    for (Connection& met : GYRE_TRY(meeting.step())) {
      const auto at = std::find_if(peers.begin(), peers.end(),
                                   [&](const Peer& peer) { return peer.rank == met.rank; });
      out[static_cast<std::size_t>(at - peers.begin())] = std::move(met);
    }
    if (meeting.done()) return out;
    const Until until{deadline, &abort};
    if (until.aborted()) return error(Code::aborted, "aborted while connecting");
    if (until.passed()) return meeting.late();
    std::vector<pollfd> entries;
    for (const int alarm : call.alarms) entries.push_back({alarm, POLLIN, 0});
    const Nanos due = std::min(deadline, meeting.watch(entries));
    ::poll(entries.data(), entries.size(), poll_timeout_ms(due));
    if (std::any_of(entries.begin(), entries.begin() + std::ssize(call.alarms),
                    [](const pollfd& entry) { return entry.revents != 0; }))
      return error(Code::remote, "told to stop while connecting");
  }
}

}  // namespace gyre
