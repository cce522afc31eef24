// The mesh: this rank's links to the peers of one communicator, made on first use, and the edges
// that plans ask for. Does not know how links are made (linking.h), plans' meaning or when an
// operation runs.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/plan.h"
#include "core/doorway.h"
#include "core/linking.h"
#include "exec/edge.h"
#include "transport/desk.h"
#include "transport/link.h"
#include "transport/plugin.h"

namespace gyre {

// FIFO shapes by kind of edge; the same on all ranks of a communicator.
struct EdgeShapes {
  std::uint32_t slot_bytes = 128 << 10;
  std::uint32_t slots = 4;
  FifoShape of(EdgeKind kind) const;
};
inline constexpr std::uint32_t kSmallSlotBytes = 4096;

// What the mesh knows of each rank.
struct RankCard {
  PeerCard peer;
  std::uint64_t process = 0;  // equal for ranks of one process
};

struct MeshOptions {
  std::uint64_t comm = 0;  // names the communicator within the job
  int rank = 0;
  std::vector<RankCard> cards;  // by rank
  std::shared_ptr<Doorway> doorway;
  EdgeShapes shapes;
  std::string transport = "auto";  // auto, shm, tcp or the plug-in's name
  const PluginTable* plugin = nullptr;
};

class Mesh {
 public:
  explicit Mesh(MeshOptions options);

  // Edges for `program`, in its order; `kind` for those with data. Makes missing links and FIFOs
  // and waits for the peers to do the same. Collective over the ranks that share edges. Fails:
  // timeout or remote naming the rank, aborted, system, invalid-usage (transports differ).
  Result<std::vector<Edge*>> bind(const Program& program, EdgeKind kind, Nanos deadline,
                                  const std::atomic<bool>& abort);

  // The same in steps that never wait, for programs whose peers come in an order of their own.
  // Begins the missing links. Needs: those begun before are done.
  void reach(std::span<const EdgeSpec> edges);
  // Goes on with them; true when none is left.
  Result<bool> turn_linking();
  // The edges as far as this rank and its peers have opened them; true when that is all of them,
  // which are then in `into`. Not even a link may be there yet.
  Result<bool> open(std::span<const EdgeSpec> edges, EdgeKind kind, std::vector<Edge*>& into);
  // Needs: open() was false. Fails when there is no more point in waiting: remote when a peer is
  // known to be gone, timeout, aborted.
  Status keep_waiting(std::span<const EdgeSpec> edges, EdgeKind kind, Nanos deadline,
                      const std::atomic<bool>& abort) const;

  // nullptr while there is no link. Links are never removed.
  Link* link(int peer) const;
  const std::map<int, std::unique_ptr<Link>>& links() const { return links_; }
  Desk* desk() const { return desk_.get(); }
  const EdgeShapes& shapes() const { return options_.shapes; }
  const PeerCard& card(int rank) const {
    return options_.cards[static_cast<std::size_t>(rank)].peer;
  }
  std::uint64_t process(int rank) const {
    return options_.cards[static_cast<std::size_t>(rank)].process;
  }
  // News of a peer; its farewell, or that it died, as an error.
  Result<PeerNews> hear_peer(Link& link) const;
  // As above for a peer that is still needed: to have left in order is an error too.
  Status check_peer(Link& link) const;
  // Takes this rank's buffers back from its peers: after it none of them reads or writes there,
  // except one that was stopped in the middle, which is waited for half a second and warned of.
  void recall();
  const std::shared_ptr<Doorway>& doorway() const { return options_.doorway; }
  const std::vector<RankCard>& cards() const { return options_.cards; }

 private:
  struct EdgeName {
    int peer;
    EdgeKey key;
    bool outgoing;
    auto operator<=>(const EdgeName& other) const;
    bool operator==(const EdgeName&) const = default;
  };
  MeshOptions options_;
  std::unique_ptr<Desk> desk_;  // made with the first local peer
  std::map<int, std::unique_ptr<Link>> links_;
  std::map<EdgeName, std::unique_ptr<Edge>> edges_;
  std::optional<Linking> linking_;
};

}  // namespace gyre
