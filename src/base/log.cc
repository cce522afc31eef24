#include "base/log.h"

#include "base/param.h"

#include <unistd.h>

#include <mutex>
#include <set>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace gyre {

GYRE_PARAM(debug, std::string, "warn", "log level: error, warn, info, debug or trace (stderr)");

namespace {

LogLevel level_from(const std::string& text) {
  if (text == "error") return LogLevel::error;
  if (text == "info") return LogLevel::info;
  if (text == "debug") return LogLevel::debug;
  if (text == "trace") return LogLevel::trace;
  return LogLevel::warn;
}

// Leaked on purpose: threads of the user may log while static destructors run.
spdlog::logger& logger() {
  static auto* made = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    auto* fresh = new spdlog::logger("gyre", sink);
    fresh->set_pattern("%H:%M:%S.%e gyre %P %l: %v");
    fresh->set_level(spdlog::level::trace);
    fresh->flush_on(spdlog::level::trace);
    return fresh;
  }();
  return *made;
}

}  // namespace

bool log_enabled(LogLevel level) {
  static const LogLevel limit = level_from(param_debug.get());
  return static_cast<int>(level) <= static_cast<int>(limit);
}

void log_line(LogLevel level, const std::string& line) {
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::err, spdlog::level::warn,
                                                          spdlog::level::info, spdlog::level::debug,
                                                          spdlog::level::trace};
  logger().log(kLevels[static_cast<int>(level)], line);
}

bool log_first(const std::string& key) {
  static std::mutex mutex;
  static auto* seen = new std::set<std::string>;
  std::lock_guard lock(mutex);
  return seen->insert(key).second;
}

}  // namespace gyre
