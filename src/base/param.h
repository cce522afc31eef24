// Environment knobs, each declared once with GYRE_PARAM beside the code that reads it. A knob
// GYRE_PARAM(socket_ifname, ...) is the variable GYRE_SOCKET_IFNAME and shows up in `gyre env` by
// itself. Values are read once, at first use; a malformed value is an error from check_params().
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace gyre {

// Tags for the two kinds of number that have units.
struct Bytes {
  std::uint64_t count;
};
struct Duration {
  Nanos nanos;
};

class ParamBase {
 public:
  ParamBase(const char* name, const char* meaning);
  ParamBase(const ParamBase&) = delete;
  ParamBase& operator=(const ParamBase&) = delete;
  virtual ~ParamBase() = default;

  std::string variable() const;  // "GYRE_SOCKET_IFNAME"
  const char* meaning() const { return meaning_; }
  virtual std::string value_text() = 0;
  virtual std::string default_text() const = 0;
  virtual Status check() = 0;
  bool from_environment() const;

 private:
  const char* name_;
  const char* meaning_;
};

// Parsers for every kind of knob; each refuses what it does not fully understand.
Status parse_param(std::string_view text, std::string& out);
Status parse_param(std::string_view text, bool& out);
Status parse_param(std::string_view text, std::int64_t& out);
Status parse_param(std::string_view text, Bytes& out);
Status parse_param(std::string_view text, Duration& out);
std::string param_text(const std::string& value);
std::string param_text(bool value);
std::string param_text(std::int64_t value);
std::string param_text(Bytes value);
std::string param_text(Duration value);

// The variable's text, or nullptr when unset. The one place that reads the environment for knobs.
const char* param_environment(const std::string& variable);

template <class T>
class Param final : public ParamBase {
 public:
  Param(const char* name, T initial, const char* meaning)
      : ParamBase(name, meaning), initial_(std::move(initial)) {}

  // Any thread. The default when the variable is unset or malformed.
  const T& get() {
    std::call_once(once_, [this] { status_ = load(); });
    return value_;
  }
  Status check() override {
    get();
    return status_ ? Status() : Status(Error(status_.error()));
  }
  std::string value_text() override { return param_text(get()); }
  std::string default_text() const override { return param_text(initial_); }

 private:
  Status load() {
    value_ = initial_;
    const char* text = param_environment(variable());
    if (!text) return {};
    T parsed{};
    Status status = parse_param(text, parsed);
    if (!status)
      return error(Code::invalid_usage, "{}='{}' is not valid: {}", variable(), text,
                   status.error().text);
    value_ = std::move(parsed);
    return {};
  }

  T initial_;
  T value_{};
  Status status_;
  std::once_flag once_;
};

// Never destroyed: threads that outlive main(), a root's or a user's, still ask.
#define GYRE_PARAM(name, type, initial, meaning) \
  ::gyre::Param<type>& param_##name = *new ::gyre::Param<type>(#name, type{initial}, meaning)

// Every knob linked into this process, sorted by variable.
std::vector<ParamBase*> all_params();

// First malformed knob as an error. Warns once about each GYRE_ variable that no knob has, with the
// nearest name. Call at communicator init.
Status check_params();

// Known name nearest to `variable` by edit distance, empty when none is near.
std::string nearest_param(const std::string& variable);

}  // namespace gyre
