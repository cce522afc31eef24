// A Link joins this rank with one peer, both directions. The one interface of all transports.
// Knows FIFOs, windows and whether the peer is there. Does not know plans, types or topology.
//
// Two abilities: a mapped link (loop, shm) lets both ends look at the same FIFO words; a posted
// link (tcp, plug-ins) copies committed slots across when turn() is called. The executor sees FIFOs
// alone. All calls on one communicator's links come from the thread that holds that communicator.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "transport/fifo.h"
#include "transport/region.h"

namespace gyre {

// Which traffic an edge carries; each kind has a FIFO shape of its own, equal on all ranks.
enum class EdgeKind : std::uint8_t { small, bulk, token, point_to_point };
inline constexpr int kEdgeKinds = 4;

// Names one direction of a link: both ends use the same key for the same FIFO.
struct EdgeKey {
  EdgeKind kind = EdgeKind::bulk;
  std::uint16_t index = 0;
  bool operator==(const EdgeKey&) const = default;
};

// A range of memory on another rank. window 0: no window, `offset` is a bare address in its
// process.
struct RemoteRange {
  std::uint32_t window = 0;
  std::uint64_t offset = 0;
};

// Wakes a rank that sleeps (transport/desk.h).
struct Bell {
  std::uint32_t asleep;
  std::uint32_t rings;
};

// What one rank tells another when it gives up.
struct Farewell {
  Code code = Code::remote;
  int culprit = -1;
  std::string text;
};

// What check() found: the peer said good-bye in order, or gave up and told why.
struct PeerNews {
  bool left = false;
  std::optional<Farewell> farewell;
};

class Link {
 public:
  explicit Link(int peer) : peer_(peer) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  virtual ~Link() = default;

  int peer() const { return peer_; }
  virtual const char* name() const = 0;

  // Opens the FIFO from the peer (storage is on this side). Asked once per key.
  virtual Result<FifoReader> incoming(const EdgeKey& key, const FifoShape& shape) = 0;
  // The FIFO to the peer; nullopt while the peer has not opened it: ask again.
  virtual Result<std::optional<FifoWriter>> outgoing(const EdgeKey& key,
                                                     const FifoShape& shape) = 0;

  // Moves bytes of a posted link. True when anything moved. Mapped links have nothing to do.
  virtual Result<bool> turn() { return false; }
  // False while committed slots have not left this process.
  virtual bool flushed() const { return true; }

  // Lets the peer map `region`: must come before a RemoteRange that names it. Once per region.
  virtual Status announce(const RegionRef&) { return {}; }
  // The peer's memory as a pointer here, or nullptr when it cannot be mapped.
  virtual bool can_map() const { return false; }
  virtual Result<std::byte*> map(const RemoteRange&) { return nullptr; }
  // Single copy from a bare address of the peer's process. can_pull() is probed once.
  virtual bool can_pull() const { return false; }
  virtual Status pull(void*, std::uint64_t, std::size_t) {
    return error(Code::internal, "{} cannot pull", name());
  }

  // The peer's memory may be used, through map() and pull(), from a borrow() that answered true to
  // the give_back() after it. False: the peer's call has failed and its buffers are its own again.
  virtual bool borrow() { return true; }
  virtual void give_back() {}
  // Changes whenever the peer begins or ends to use memory of others; odd in between.
  virtual std::uint32_t touches() const { return 0; }

  // News of the peer; an error when it is gone without a word. Slow path.
  virtual Result<PeerNews> check() = 0;
  // Leaves a farewell for the peer. Never blocks, never fails upward.
  virtual void leave(const Farewell& farewell) = 0;
  // The peer's bell on a mapped link; a posted link's bytes wake the peer by themselves.
  virtual Bell* bell() { return nullptr; }
  // Adds what poll(2) should watch to wake when the peer sends or dies, or takes what waits to be
  // sent; nothing where the link has no descriptor or the peer is gone.
  virtual void watch(std::vector<pollfd>& into) const { (void)into; }

 private:
  int peer_;
};

}  // namespace gyre
