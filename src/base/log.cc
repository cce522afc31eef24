#include "base/log.h"

#include "base/param.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace gyre {

namespace {

// By level.
constexpr const char* kNames[] = {"error", "warn", "info", "debug", "trace"};

}  // namespace

// What the knob below needs to be of this type.
static Status parse_param(std::string_view text, LogLevel& out) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), text);
  if (found == std::end(kNames))
    return error(Code::invalid_argument, "it is none of {}", fmt::join(kNames, ", "));
  out = static_cast<LogLevel>(found - kNames);
  return {};
}
static std::string param_text(LogLevel level) { return kNames[static_cast<int>(level)]; }

GYRE_PARAM(debug, LogLevel, LogLevel::warn,
           "log level: error, warn, info, debug or trace (stderr)");

namespace {

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
  static const LogLevel limit = param_debug.get();
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
