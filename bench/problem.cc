#include "bench/problem.h"

#include <fmt/format.h>

namespace perf {

Problem problem_of(gyreResult_t answer, const char* call, gyreComm_t comm) {
  if (answer == gyreSuccess) return std::nullopt;
  return fmt::format("{}: {}: {}", call, gyreGetErrorString(answer), gyreGetLastError(comm));
}

}  // namespace perf
