// Log lines: lower case, word then value, to stderr (never stdout: tables live there).
// Knows levels. Does not know ranks: callers name them in the line.
#pragma once

#include <string>

#include <fmt/format.h>

namespace gyre {

enum class LogLevel : int { error = 0, warn = 1, info = 2, debug = 3, trace = 4 };

// Level from GYRE_DEBUG (error warn info debug trace), default warn. Any thread.
bool log_enabled(LogLevel level);
void log_line(LogLevel level, const std::string& line);

// True once per process for each distinct key: for warnings that would otherwise repeat.
bool log_first(const std::string& key);

}  // namespace gyre

#define GYRE_LOG(level, ...)                                               \
  do {                                                                     \
    if (::gyre::log_enabled(::gyre::LogLevel::level))                      \
      ::gyre::log_line(::gyre::LogLevel::level, fmt::format(__VA_ARGS__)); \
  } while (0)
