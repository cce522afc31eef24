// An Edge: one direction of a link as the executor uses it. Knows its FIFO end and how to wake the
// other side. Its step counters live as long as the communicator and are shared by all plans.
#pragma once

#include "transport/desk.h"
#include "transport/link.h"

namespace gyre {

struct Edge {
  Link* link = nullptr;
  EdgeKey key;
  bool outgoing = false;
  Bell* bell = nullptr;  // of the peer, on a mapped link
  FifoReader reader;     // incoming
  FifoWriter writer;     // outgoing

  bool ready() { return outgoing ? writer.can_send() : reader.ready(); }
  void commit(const CallSignature& call, std::size_t bytes) {
    writer.commit(call, bytes);
    if (bell) ring_bell(*bell);
  }
  void release() {
    reader.release();
    if (bell) ring_bell(*bell);
  }
};

}  // namespace gyre
