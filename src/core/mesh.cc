#include "core/mesh.h"

#include <sched.h>

#include <algorithm>
#include <tuple>

#include "base/log.h"

namespace gyre {

namespace {

constexpr std::uint32_t kSmallSlots = 16;
// Far longer than a chunk takes a rank that runs, shorter than an abort may.
constexpr Nanos kRecallPatience = 500'000'000;

EdgeKey key_of(const EdgeSpec& spec, EdgeKind kind) {
  return {spec.token ? EdgeKind::token : kind, spec.index};
}

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
  reach(program.edges);
  std::vector<Edge*> out;
  for (int round = 0;; ++round) {
    if (GYRE_TRY(open(program.edges, kind, out))) return out;
    GYRE_TRY(turn_linking());
    if (linking_ || round % 64 == 63) GYRE_TRY(keep_waiting(program.edges, kind, deadline, abort));
    if (linking_) {
      linking_->wait(deadline);
      round = 0;
    } else if (round < 256) {
      sched_yield();
    } else {
      const timespec pause{0, 200'000};
      nanosleep(&pause, nullptr);
    }
  }
}

void Mesh::reach(std::span<const EdgeSpec> edges) {
  std::vector<int> missing;
  for (const EdgeSpec& spec : edges)
    if (!link(spec.peer)) missing.push_back(spec.peer);
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (!missing.empty()) linking_.emplace(options_, desk_, missing);
}

Result<bool> Mesh::turn_linking() {
  if (!linking_) return true;
  for (std::unique_ptr<Link>& made : GYRE_TRY(linking_->step()))
    links_[made->peer()] = std::move(made);
  if (!linking_->done()) return false;
  linking_.reset();
  return true;
}

// Peers open their incoming ends in their own time.
Result<bool> Mesh::open(std::span<const EdgeSpec> edges, EdgeKind kind, std::vector<Edge*>& into) {
  into.clear();
  for (const EdgeSpec& spec : edges) {
    Link* to = link(spec.peer);
    if (!to) continue;
    const EdgeKey key = key_of(spec, kind);
    const FifoShape shape = options_.shapes.of(key.kind);
    std::unique_ptr<Edge>& edge = edges_[EdgeName{spec.peer, key, spec.outgoing}];
    if (!edge) {
      auto made = std::make_unique<Edge>(Edge{to, key, spec.outgoing, to->bell(), {}, {}});
      if (!spec.outgoing) made->reader = GYRE_TRY(to->incoming(key, shape));
      edge = std::move(made);
    }
    if (spec.outgoing && !edge->writer) {
      const auto writer = GYRE_TRY(to->outgoing(key, shape));
      if (!writer) continue;
      edge->writer = *writer;
    }
    into.push_back(edge.get());
  }
  return into.size() == edges.size();
}

Status Mesh::keep_waiting(std::span<const EdgeSpec> edges, EdgeKind kind, Nanos deadline,
                          const std::atomic<bool>& abort) const {
  if (abort.load(std::memory_order_relaxed))
    return error(Code::aborted, "aborted while connecting");
  const bool late = deadline != kNever && now_ns() > deadline;
  if (linking_ && late) return linking_->late();
  for (const EdgeSpec& spec : edges) {
    const auto edge = edges_.find(EdgeName{spec.peer, key_of(spec, kind), spec.outgoing});
    if (edge != edges_.end() && (!spec.outgoing || edge->second->writer)) continue;
    Link* to = link(spec.peer);
    if (!to) continue;
    GYRE_TRY(check_peer(*to));
    if (late)
      return error(Code::timeout, "rank {} did not join the operation in time", spec.peer)
          .blame(spec.peer);
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

}  // namespace gyre
