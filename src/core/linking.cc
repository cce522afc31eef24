#include "core/linking.h"

#include "base/log.h"
#include "base/param.h"
#include "core/mesh.h"
#include "transport/chaos.h"
#include "transport/crypt.h"
#include "transport/shm.h"
#include "transport/striped.h"
#include "transport/tcp.h"

#include <poll.h>

#include <algorithm>

namespace gyre {

GYRE_PARAM(fifo_limit, Bytes, 1ull << 30, "most FIFO memory of one rank in one communicator");

namespace {

constexpr Nanos kPluginPause = 200'000;  // a plug-in has no descriptor to wait for

std::vector<Peer> peers_of(const MeshOptions& options, const std::vector<int>& ranks) {
  std::vector<Peer> out;
  for (const int rank : ranks)
    out.push_back({rank, options.cards[static_cast<std::size_t>(rank)].peer});
  return out;
}

}  // namespace

Linking::Linking(const MeshOptions& options, std::unique_ptr<Desk>& desk,
                 const std::vector<int>& peers)
    : options_(options),
      desk_(desk),
      meeting_(*options.doorway,
               {.comm = options.comm, .rank = options.rank, .tcp_only = options.transport == "tcp"},
               peers_of(options, peers)) {}

Result<std::vector<std::unique_ptr<Link>>> Linking::step() {
  std::vector<std::unique_ptr<Link>> out;
  if (!meeting_.done())
    for (Connection& connection : GYRE_TRY(meeting_.step())) receive(std::move(connection));
  for (auto going = going_.begin(); going != going_.end();) {
    std::unique_ptr<Link> link = GYRE_TRY(advance(*going));
    if (!link) {
      ++going;
      continue;
    }
    out.push_back(std::move(link));
    going = going_.erase(going);
  }
  return out;
}

void Linking::receive(Connection connection) {
  Going& going = going_.emplace_back();
  going.connection = std::move(connection);
  const PluginTable* plugin = options_.plugin;
  if (!plugin) return;
  const Connection& over = going.connection;
  const int in_tree = over.socket.is_unix() ? GYRE_TRANSPORT_SCORE_SHM : GYRE_TRANSPORT_SCORE_TCP;
  going.plugin.emplace(
      PluginCall{.plugin = plugin,
                 .peer = over.rank,
                 .control = over.socket.fd(),
                 .session_key = over.session_key,
                 .answerer = options_.rank < over.rank,
                 .score_to_beat = options_.transport == plugin->name ? 0 : in_tree});
}

Result<std::unique_ptr<Link>> Linking::advance(Going& going) {
  if (going.plugin) {
    std::unique_ptr<Link> link = GYRE_TRY(advance_plugin(going));
    if (link || going.plugin) return link;
  }
  if (going.line || going.connection.socket.is_unix()) return share_memory(going);
  if (!GYRE_TRY(gather_sockets(going))) return std::unique_ptr<Link>();
  return tcp_link(going);
}

Result<std::unique_ptr<Link>> Linking::advance_plugin(Going& going) {
  if (!GYRE_TRY(going.plugin->step())) return std::unique_ptr<Link>();
  const int peer = going.connection.rank;
  const char* name = options_.plugin->name;
  if (!going.plugin->declined()) {
    GYRE_LOG(info, "opened link rank {} -> {} over {}", options_.rank, peer, name);
    return posted_link(peer, name, going.plugin->take_wire(going.connection.socket.release()));
  }
  if (options_.transport == name)
    return error(Code::invalid_usage, "transport {} does not reach rank {} ({})", name, peer,
                 where_text(options_.cards[static_cast<std::size_t>(peer)].peer))
        .blame(peer);
  going.plugin.reset();
  return std::unique_ptr<Link>();
}

Result<bool> Linking::gather_sockets(Going& going) {
  const int peer = going.connection.rank;
  if (options_.transport == "shm")
    return error(Code::invalid_usage,
                 "transport shm was asked for, but rank {} ({}) shares no memory with us", peer,
                 where_text(options_.cards[static_cast<std::size_t>(peer)].peer))
        .blame(peer);
  const auto more = static_cast<std::size_t>(tcp_sockets() - 1);
  going.sockets.resize(more);
  for (std::size_t i = going.meetings.size(); i < more; ++i) {
    const Call call{.comm = options_.comm,
                    .rank = options_.rank,
                    .lane = static_cast<std::uint32_t>(i + 1),
                    .tcp_only = true};
    going.meetings.push_back(
        std::make_unique<Meeting>(*options_.doorway, call, peers_of(options_, {peer})));
  }
  bool all = true;
  for (std::size_t i = 0; i < more; ++i) {
    for (Connection& met : GYRE_TRY(going.meetings[i]->step()))
      going.sockets[i] = std::move(met.socket);
    all = all && going.meetings[i]->done();
  }
  return all;
}

std::unique_ptr<Link> Linking::tcp_link(Going& going) const {
  Connection& first = going.connection;
  GYRE_LOG(info, "opened link rank {} -> {} over tcp {} with {} socket(s)", options_.rank,
           first.rank, first.socket.ends(), 1 + going.sockets.size());
  std::vector<std::unique_ptr<Wire>> lanes;
  lanes.push_back(make_tcp_wire(first.socket.release()));
  for (Socket& socket : going.sockets) lanes.push_back(make_tcp_wire(socket.release()));
  return posted_link(first.rank, "tcp", make_striped_wire(std::move(lanes)),
                     tcp_encryption() ? &first.session_key : nullptr);
}

Result<std::unique_ptr<Link>> Linking::share_memory(Going& going) {
  const int peer = going.connection.rank;
  if (!desk_) desk_ = GYRE_TRY(Desk::create(param_fifo_limit.get().count));
  if (!going.line) {
    GYRE_TRY_WHILE(greet_shm(going.connection.socket.fd(), *desk_), "greeting rank {}", peer);
    going.line = going.connection.socket.release();
  }
  const auto process = [&](int rank) {
    return options_.cards[static_cast<std::size_t>(rank)].process;
  };
  const ShmEnds ends{options_.rank, peer, desk_.get(), process(peer) == process(options_.rank)};
  std::unique_ptr<Link> link = GYRE_TRY(meet_shm(going.line, ends));
  if (!link) return link;
  GYRE_LOG(info, "opened link rank {} -> {} over {}", options_.rank, peer, link->name());
  return with_chaos(std::move(link), chaos_salt(peer));
}

std::unique_ptr<Link> Linking::posted_link(int peer, const char* name, std::unique_ptr<Wire> wire,
                                           const Key* cipher_key) const {
  const std::uint64_t salt = chaos_salt(peer);
  wire = with_chaos(std::move(wire), salt);
  if (cipher_key) wire = make_crypt_wire(std::move(wire), *cipher_key, options_.rank < peer);
  return with_chaos(make_pump_link(peer, name, std::move(wire), param_fifo_limit.get().count),
                    salt);
}

// Every link of a job has dice of its own.
std::uint64_t Linking::chaos_salt(int peer) const {
  return static_cast<std::uint64_t>(options_.rank) << 32 | static_cast<std::uint32_t>(peer);
}

void Linking::wait(Nanos deadline) {
  std::vector<pollfd> entries;
  Nanos due = deadline_in(20_ms);
  auto watch = [&](Meeting& meeting) {
    if (!meeting.done()) due = std::min(due, meeting.watch(entries));
  };
  watch(meeting_);
  for (const Going& going : going_) {
    for (const auto& meeting : going.meetings) watch(*meeting);
    entries.push_back({going.line ? going.line.get() : going.connection.socket.fd(), POLLIN, 0});
    if (going.plugin) due = std::min(due, deadline_in(kPluginPause));
  }
  const Nanos pause = std::max<Nanos>(std::min(due, deadline) - now_ns(), 0);
  const timespec limit{pause / 1'000'000'000, pause % 1'000'000'000};
  ::ppoll(entries.data(), entries.size(), &limit, nullptr);
}

Error Linking::late() const {
  if (!meeting_.done()) return meeting_.late();
  for (const auto& meeting : going_.front().meetings)
    if (!meeting->done()) return meeting->late();
  const int peer = going_.front().connection.rank;
  return error(Code::timeout, "rank {} connected but did not greet in time", peer).blame(peer);
}

}  // namespace gyre
