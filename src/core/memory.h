// Memory for users: shared with the peers of this host when a collective asks for it. Knows that
// regions are where it comes from, so that the roof need not.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace gyre {

// Zeroed memory that local peers can map. Any thread. Fails: system.
Result<void*> allocate_memory(std::size_t bytes);
// Fails: invalid-argument when `memory` was not allocated here.
Status free_memory(void* memory);

}  // namespace gyre
