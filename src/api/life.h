// What init and the rest of a communicator's life share.
#pragma once

#include "api/handle.h"

namespace gyre {

Result<CommOptions> options_of(const gyreConfig_t* config, bool* blocking);
// Ends a handle that this thread has closed: waits for the calls inside, then frees it.
void discard(gyreComm* handle);

}  // namespace gyre
