// What went wrong, as a sentence; nothing when all is well. Knows how gyre's answers become one.
#pragma once

#include <optional>
#include <string>

#include "gyre/gyre.h"

namespace perf {

using Problem = std::optional<std::string>;

// "gyreAllReduce: remote error: rank 3 died ..." or nothing on success.
[[nodiscard]] Problem problem_of(gyreResult_t answer, const char* call, gyreComm_t comm);

}  // namespace perf
