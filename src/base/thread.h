// Threads whose start may fail as a value: std::thread's constructor throws when the system has no
// more of them. Knows nothing of what runs.
#pragma once

#include "base/result.h"

#include <system_error>
#include <thread>
#include <utility>

namespace gyre {

// Fails: system.
template <class Body>
Result<std::thread> start_thread(const char* purpose, Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& refused) {
    return error(Code::system, "start a thread for {}", purpose).because(refused.code().value());
  }
}

}  // namespace gyre
