// Where a rank's process can be called: one TCP and one abstract unix listener, and connect(),
// which gives authenticated sockets to given ranks. Knows dialling, answering, retries and parked
// callers. Does not know what the sockets are for. One per rank and job, shared by a communicator
// and its children.
#pragma once

#include "base/result.h"
#include "transport/auth.h"
#include "transport/socket.h"

#include <poll.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace gyre {

// How to call a rank and where it lives: travels in all_gather, so a plain block of bytes.
struct PeerCard {
  std::uint32_t protocol = kProtocolVersion;
  std::int32_t pid = 0;
  std::uint32_t uid = 0;
  std::uint32_t has_unix = 0;           // 1: listens on an abstract unix socket named by the token
  std::array<std::uint8_t, 16> host{};  // hash of the boot id, or of GYRE_HOST_ID
  std::uint64_t netns = 0;              // inode of the network namespace; 0 unknown
  Token token{};                        // random; also names the unix listener
  WireAddress tcp;
  std::array<char, 64> hostname{};  // for people only; ends in 0
};
static_assert(sizeof(PeerCard) == 144);

// Fails: invalid-argument when the bytes cannot be a card.
Result<PeerCard> unpack_card(std::span<const std::byte> bytes);
bool same_host(const PeerCard& a, const PeerCard& b);
std::string where_text(const PeerCard& card);  // "host node7 pid 4711 at 10.0.0.7:4021"
Address unix_door(const Token& token);

struct Peer {
  int rank = -1;
  PeerCard card;
};

// One connected, authenticated stream.
struct Connection {
  int rank = -1;
  Socket socket;      // unix stream when both ends share a host and network namespace, else TCP
  Key session_key{};  // fresh per connection, equal on both ends
};

// Which connection is meant; both ends must say the same.
struct Call {
  std::uint64_t comm = 0;  // names the communicator, unique within the job
  int rank = 0;            // the caller's rank in it
  std::uint32_t lane = 0;  // several connections per pair carry different lanes
  Purpose purpose = Purpose::link;
  bool tcp_only = false;             // no unix socket even on one host
  std::span<const int> alarms = {};  // descriptors: one that is readable ends the call, as `remote`
};

class Doorway {
 public:
  // Listens on `local` (port 0: any, or one of GYRE_PORT_RANGE). Fails: system.
  static Result<std::shared_ptr<Doorway>> open(const Key& job_key, const Address& local);
  ~Doorway();

  const PeerCard& card() const { return card_; }

  // Needs: every peer calls connect with the same comm, lane and purpose and this rank among its
  // peers, sooner or later. The higher rank dials, the lower answers. Peers: distinct, not oneself.
  // Gives: connections in the order of `peers`.
  // Fails: timeout or remote naming the rank and its address; aborted within 100 ms of the word.
  // What connected before a failure is closed, and that call's comm and lane are spent: another try
  // takes another lane. Threads: any number at once, with different calls.
  Result<std::vector<Connection>> connect(const Call& call, std::span<const Peer> peers,
                                          Nanos deadline, const std::atomic<bool>& abort);

 private:
  friend class Meeting;  // its guests come through this door
  struct Incoming;
  using CallerKey = std::tuple<std::uint64_t, std::uint16_t, std::uint32_t, int>;

  Doorway(const Key& job_key, Listener tcp, Listener local);
  // These three need mutex_ held.
  Status serve();
  std::optional<Connection> take_parked(const Call& call, int rank);
  void watch(std::vector<pollfd>& entries) const;

  const Key key_;
  PeerCard card_;
  std::mutex mutex_;
  Listener tcp_, unix_;                     // under mutex_
  std::list<Incoming> incoming_;            // handshakes under way; under mutex_
  std::map<CallerKey, Connection> parked_;  // callers nobody asked for yet; under mutex_
};

}  // namespace gyre
