// What names this host and process to others. Knows boot id, namespaces and host name. Does not
// decide what may be shared: that is proven where it is tried.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace gyre {

// Hash of the kernel's boot id, or of GYRE_HOST_ID where that is set.
std::array<std::uint8_t, 16> host_identity();
// Inode of this thread's network namespace; 0 when it cannot be told.
std::uint64_t network_namespace();
std::string host_name();

}  // namespace gyre
