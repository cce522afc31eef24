#include "core/mesh.h"

#include <sched.h>

#include <algorithm>
#include <tuple>

#include "base/log.h"
#include "base/param.h"
#include "transport/chaos.h"
#include "transport/crypt.h"
#include "transport/shm.h"
#include "transport/tcp.h"

namespace gyre {

GYRE_PARAM(fifo_limit, Bytes, 1ull << 30, "most FIFO memory of one rank in one communicator");

namespace {

constexpr std::uint32_t kSmallSlots = 16;
// Far longer than a chunk takes a rank that runs, shorter than an abort may.
constexpr Nanos kRecallPatience = 500'000'000;

}  // namespace

FifoShape EdgeShapes::of(EdgeKind kind) const {
  switch (kind) {
    case EdgeKind::small:
      return {kSmallSlots, kSmallSlotBytes};
    case EdgeKind::token:
      return {kSmallSlots, 0};
    case EdgeKind::bulk:
    case EdgeKind::point_to_point:
      break;
  }
  return {slots, slot_bytes};
}

auto Mesh::EdgeName::operator<=>(const EdgeName& other) const {
  return std::tie(peer, key.kind, key.index, outgoing) <=>
         std::tie(other.peer, other.key.kind, other.key.index, other.outgoing);
}

Mesh::Mesh(MeshOptions options) : options_(std::move(options)) {}

Link* Mesh::link(int peer) const {
  const auto found = links_.find(peer);
  return found == links_.end() ? nullptr : found->second.get();
}

Result<std::vector<Edge*>> Mesh::bind(const Program& program, EdgeKind kind, Nanos deadline,
                                      const std::atomic<bool>& abort) {
  std::vector<int> missing;
  for (const EdgeSpec& spec : program.edges)
    if (!link(spec.peer)) missing.push_back(spec.peer);
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (!missing.empty()) GYRE_TRY(connect(missing, deadline, abort));

  std::vector<Edge*> out, waiting;
  for (const EdgeSpec& spec : program.edges) {
    const EdgeKey key{spec.token ? EdgeKind::token : kind, spec.index};
    std::unique_ptr<Edge>& edge = edges_[EdgeName{spec.peer, key, spec.outgoing}];
    if (!edge) {
      Link* to = link(spec.peer);
      edge = std::make_unique<Edge>(Edge{to, key, spec.outgoing, to->bell(), {}, {}});
      if (spec.outgoing)
        waiting.push_back(edge.get());
      else
        edge->reader = GYRE_TRY(to->incoming(key, options_.shapes.of(key.kind)));
    }
    out.push_back(edge.get());
  }
  GYRE_TRY(open_outgoing(waiting, deadline, abort));
  return out;
}

// Peers open their incoming ends in their own time: asks round by round until all are there.
Status Mesh::open_outgoing(std::vector<Edge*>& waiting, Nanos deadline,
                           const std::atomic<bool>& abort) {
  for (int round = 0; !waiting.empty(); ++round) {
    for (std::size_t i = 0; i < waiting.size();) {
      Edge& edge = *waiting[i];
      const auto writer =
          GYRE_TRY(edge.link->outgoing(edge.key, options_.shapes.of(edge.key.kind)));
      if (!writer) {
        ++i;
        continue;
      }
      edge.writer = *writer;
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (waiting.empty()) break;
    const int peer = waiting.front()->link->peer();
    if (abort.load(std::memory_order_relaxed))
      return error(Code::aborted, "aborted while connecting");
    if (deadline != kNever && now_ns() > deadline)
      return error(Code::timeout, "rank {} did not join the operation in time", peer).blame(peer);
    if (round % 64 == 63) {
      for (Edge* edge : waiting) GYRE_TRY(check_peer(*edge->link));
    }
    if (round < 256) {
      sched_yield();
    } else {
      const timespec pause{0, 200'000};
      nanosleep(&pause, nullptr);
    }
  }
  return {};
}

Result<PeerNews> Mesh::hear_peer(Link& link) const {
  if (desk_)
    if (auto word = desk_->farewell()) return Error{word->code, word->culprit, word->text};
  PeerNews news = GYRE_TRY(link.check());
  if (news.farewell) return Error{news.farewell->code, news.farewell->culprit, news.farewell->text};
  return news;
}

Status Mesh::check_peer(Link& link) const {
  const PeerNews news = GYRE_TRY(hear_peer(link));
  if (!news.left) return {};
  return error(Code::remote, "rank {} has left: it destroyed its communicator", link.peer())
      .blame(link.peer());
}

void Mesh::recall() {
  if (!desk_) return;
  desk_->recall();
  const Nanos deadline = deadline_in(kRecallPatience);
  for (const auto& [peer, link] : links_) {
    const std::uint32_t seen = link->touches();
    // A peer that is inside some rank's buffers leaves after one chunk, or is dead.
    for (int round = 0; seen % 2 == 1 && link->touches() == seen; ++round) {
      if (round % 64 == 63) {
        if (!link->check()) break;
        if (now_ns() > deadline) {
          GYRE_LOG(warn, "rank {} may still be using buffers of a call that has failed", peer);
          break;
        }
      }
      sched_yield();
    }
  }
}

// Every link of a job has dice of its own.
std::uint64_t Mesh::chaos_salt(int peer) const {
  return static_cast<std::uint64_t>(options_.rank) << 32 | static_cast<std::uint32_t>(peer);
}

Status Mesh::connect(std::span<const int> peers, Nanos deadline, const std::atomic<bool>& abort) {
  const std::string& wish = options_.transport;
  std::vector<Peer> calls;
  for (const int peer : peers) calls.push_back({peer, card(peer)});
  const Call call{.comm = options_.comm, .rank = options_.rank, .tcp_only = wish == "tcp"};
  std::vector<Connection> connections =
      GYRE_TRY(options_.doorway->connect(call, calls, deadline, abort));
  GYRE_TRY(plug_in(connections, deadline, abort));
  std::vector<Connection> local;
  for (Connection& connection : connections) {
    if (connection.socket.is_unix()) {
      local.push_back(std::move(connection));
      continue;
    }
    if (wish == "shm")
      return error(Code::invalid_usage,
                   "transport shm was asked for, but rank {} ({}) shares no memory with us",
                   connection.rank, where_text(card(connection.rank)))
          .blame(connection.rank);
    GYRE_LOG(info, "opened link rank {} -> {} over tcp {}", options_.rank, connection.rank,
             connection.socket.ends());
    links_[connection.rank] =
        posted_link(connection.rank, "tcp", make_tcp_wire(connection.socket.release()),
                    tcp_encryption() ? &connection.session_key : nullptr);
  }
  return share_memory(std::move(local), deadline);
}

std::unique_ptr<Link> Mesh::posted_link(int peer, const char* name, std::unique_ptr<Wire> wire,
                                        const Key* cipher_key) const {
  const std::uint64_t salt = chaos_salt(peer);
  wire = with_chaos(std::move(wire), salt);
  if (cipher_key) wire = make_crypt_wire(std::move(wire), *cipher_key, options_.rank < peer);
  return with_chaos(make_pump_link(peer, name, std::move(wire), param_fifo_limit.get().count),
                    salt);
}

Status Mesh::plug_in(std::vector<Connection>& connections, Nanos deadline,
                     const std::atomic<bool>& abort) {
  const PluginTable* plugin = options_.plugin;
  if (!plugin) return {};
  const bool must = options_.transport == plugin->name;
  std::vector<PluginMeeting> meetings;
  for (const Connection& connection : connections) {
    const int in_tree =
        connection.socket.is_unix() ? GYRE_TRANSPORT_SCORE_SHM : GYRE_TRANSPORT_SCORE_TCP;
    meetings.emplace_back(PluginCall{.plugin = plugin,
                                     .peer = connection.rank,
                                     .control = connection.socket.fd(),
                                     .session_key = connection.session_key,
                                     .answerer = options_.rank < connection.rank,
                                     .score_to_beat = must ? 0 : in_tree});
  }
  GYRE_TRY(meet_over_plugin(meetings, deadline, abort));
  std::vector<Connection> rest;
  for (std::size_t i = 0; i < meetings.size(); ++i) {
    const int peer = connections[i].rank;
    if (!meetings[i].declined()) {
      GYRE_LOG(info, "opened link rank {} -> {} over {}", options_.rank, peer, plugin->name);
      links_[peer] =
          posted_link(peer, plugin->name, meetings[i].take_wire(connections[i].socket.release()));
    } else if (must) {
      return error(Code::invalid_usage, "transport {} does not reach rank {} ({})", plugin->name,
                   peer, where_text(card(peer)))
          .blame(peer);
    } else {
      rest.push_back(std::move(connections[i]));
    }
  }
  connections = std::move(rest);
  return {};
}

Status Mesh::share_memory(std::vector<Connection> local, Nanos deadline) {
  if (local.empty()) return {};
  if (!desk_) desk_ = GYRE_TRY(Desk::create(param_fifo_limit.get().count));
  for (Connection& connection : local)
    GYRE_TRY_WHILE(greet_shm(connection.socket.fd(), *desk_), "greeting rank {}", connection.rank);
  for (Connection& connection : local) {
    const int peer = connection.rank;
    const bool same_process = process(peer) == process(options_.rank);
    const ShmEnds ends{options_.rank, peer, desk_.get(), same_process};
    std::unique_ptr<Link> link = GYRE_TRY(meet_shm(connection.socket.release(), ends, deadline));
    GYRE_LOG(info, "opened link rank {} -> {} over {}", options_.rank, peer, link->name());
    links_[peer] = with_chaos(std::move(link), chaos_salt(peer));
  }
  return {};
}

}  // namespace gyre
