// The host streams of this process, by the names users hold. Knows which names are alive. Does not
// know what runs on a stream.
#pragma once

#include <memory>

#include "core/stream.h"
#include "gyre/gyre.h"

namespace gyre {

Result<gyreStream_t> make_stream();
// The stream behind a name; whoever holds it keeps it alive. Fails: invalid-argument for a name
// that is not alive, invalid-usage for one of before a fork.
Result<std::shared_ptr<HostStream>> find_stream(gyreStream_t name);
void forget_stream(gyreStream_t name);

}  // namespace gyre
