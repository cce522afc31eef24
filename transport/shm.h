// Links inside one host: FIFOs in each other's desks, windows into each other's regions, single
// copy by process_vm_readv. Ranks of one process use the same link under the name "loop": there
// every address is mapped already. Knows the unix socket that carries descriptors and tells when
// the peer is gone. Does not know how that socket was made.
#pragma once

#include <memory>

#include "transport/desk.h"
#include "transport/link.h"

namespace gyre {

struct ShmEnds {
  int rank = -1;  // this rank
  int peer = -1;
  Desk* desk = nullptr;  // this rank's; outlives the link
  bool same_process = false;
};

// First half of the greeting: sends this rank's desk through `socket`. Both sides do it, then meet.
Status greet_shm(int socket, const Desk& desk);
// Second half: receives and checks the peer's desk, probes process_vm_readv. Gives nullptr while
// the peer has not greeted, else takes the socket. Never waits. Fails: system or remote, when
// memory cannot be shared after all.
Result<std::unique_ptr<Link>> meet_shm(Fd& socket, const ShmEnds& ends);

}  // namespace gyre
