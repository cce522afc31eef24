// One wire over several: the stream is dealt out in stripes, one wire after the other, and put
// together again in the same order. Knows stripes. Does not know what the wires run over.
#pragma once

#include <memory>
#include <vector>

#include "transport/wire.h"

namespace gyre {

inline constexpr int kTcpSocketsMax = 16;
// GYRE_TCP_SOCKETS: sockets per pair of ranks; outside 1..kTcpSocketsMax when the user's is.
int tcp_sockets();

// Needs: at least one; both ends name theirs in the same order. A wire that ends, ends the whole.
std::unique_ptr<Wire> make_striped_wire(std::vector<std::unique_ptr<Wire>> lanes);

}  // namespace gyre
