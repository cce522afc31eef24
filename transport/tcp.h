// Wires and links over a stream socket. Knows the socket and its options. Does not know frames
// (pump.h), nor how the socket was made or authenticated.
#pragma once

#include <memory>

#include "base/unique.h"
#include "transport/pump.h"

namespace gyre {

// Takes a connected, authenticated, non-blocking stream socket.
std::unique_ptr<Wire> make_tcp_wire(Fd socket);
std::unique_ptr<Link> make_tcp_link(int peer, Fd socket, std::uint64_t fifo_limit_bytes);

}  // namespace gyre
