// Links under way: from peers' cards to links over shared memory, a plug-in or tcp, side by side,
// since peers take theirs in other orders. Knows the steps after a connection is there. Does not
// know what the links are for, nor how long to wait.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "core/meeting.h"
#include "transport/desk.h"
#include "transport/link.h"
#include "transport/plugin.h"
#include "transport/wire.h"

namespace gyre {

struct MeshOptions;

class Linking {
 public:
  // Needs: `options` outlive this. `desk`: this rank's, made with the first peer that shares
  // memory.
  Linking(const MeshOptions& options, std::unique_ptr<Desk>& desk, const std::vector<int>& peers);

  // Goes as far as it can; never waits. Gives the links made since the last step. Fails: remote,
  // system, invalid-usage (transports differ), naming the rank.
  Result<std::vector<std::unique_ptr<Link>>> step();
  bool done() const { return meeting_.done() && going_.empty(); }
  // Sleeps until a step may find something, 20 ms at most.
  void wait(Nanos deadline);
  // Needs: not done. What to say when the deadline has passed.
  Error late() const;

 private:
  struct Going {
    Connection connection;
    std::optional<PluginMeeting> plugin;  // until it is declined
    Fd line;                              // to a peer that shares memory, once it has been greeted
    // Further sockets of one over TCP, by lane from 1 on.
    std::vector<std::unique_ptr<Meeting>> meetings;
    std::vector<Socket> sockets;
  };
  void receive(Connection connection);
  // nullptr: not yet.
  Result<std::unique_ptr<Link>> advance(Going& going);
  Result<std::unique_ptr<Link>> advance_plugin(Going& going);
  // True when all of the sockets are there.
  Result<bool> gather_sockets(Going& going);
  std::unique_ptr<Link> tcp_link(Going& going) const;
  Result<std::unique_ptr<Link>> share_memory(Going& going);
  std::unique_ptr<Link> posted_link(int peer, const char* name, std::unique_ptr<Wire> wire,
                                    const Key* cipher_key = nullptr) const;
  std::uint64_t chaos_salt(int peer) const;

  const MeshOptions& options_;
  std::unique_ptr<Desk>& desk_;
  Meeting meeting_;
  std::list<Going> going_;
};

}  // namespace gyre
