// This process: a random number that tells it from every other, also across containers whose
// process ids collide. A forked child gets its own.
#pragma once

#include <cstdint>

namespace gyre {

std::uint64_t process_nonce();

}  // namespace gyre
