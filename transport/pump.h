// The pump of posted links: committed slots leave over a wire as frames, arriving frames fill the
// slots of this side; credits travel back, so that a slow edge never blocks another on the same
// wire. Knows frames. Does not know what the wire is made of.
#pragma once

#include <memory>
#include <string>

#include "transport/link.h"
#include "transport/wire.h"

namespace gyre {

// `name` is the transport's. FIFO memory of this side stays below `fifo_limit_bytes`.
std::unique_ptr<Link> make_pump_link(int peer, std::string name, std::unique_ptr<Wire> wire,
                                     std::uint64_t fifo_limit_bytes);

}  // namespace gyre
