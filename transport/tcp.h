// Links over a stream socket: a posted link. Committed slots leave as frames, arriving frames fill the
// slots of this side; credits travel back so that a slow edge never blocks another on the same socket.
// Knows frames and the socket. Does not know how the socket was made or authenticated.
#pragma once

#include <memory>

#include "base/unique.h"
#include "transport/link.h"

namespace gyre {

// Takes a connected, authenticated, non-blocking stream socket. FIFO memory of this side stays below
// `fifo_limit_bytes`.
Result<std::unique_ptr<Link>> make_tcp_link(int peer, Fd socket, std::uint64_t fifo_limit_bytes);

}  // namespace gyre
