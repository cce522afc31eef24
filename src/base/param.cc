#include "base/param.h"

#include "base/log.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <numeric>

namespace gyre {

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<ParamBase*> params;
};

// Leaked: knobs register during static initialisation and are read until the process ends.
Registry& registry() {
  static auto* made = new Registry;
  return *made;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

ParamBase::ParamBase(const char* name, const char* meaning) : name_(name), meaning_(meaning) {
  std::lock_guard lock(registry().mutex);
  registry().params.push_back(this);
}

std::string ParamBase::variable() const {
  std::string out = "GYRE_";
  for (const char* c = name_; *c; ++c)
    out += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  return out;
}

bool ParamBase::from_environment() const { return param_environment(variable()) != nullptr; }

const char* param_environment(const std::string& variable) { return std::getenv(variable.c_str()); }

Status parse_param(std::string_view text, std::string& out) {
  out = text;
  return {};
}

Status parse_param(std::string_view text, bool& out) {
  if (text == "1" || text == "true" || text == "yes" || text == "on") return out = true, Status();
  if (text == "0" || text == "false" || text == "no" || text == "off") return out = false, Status();
  return error(Code::invalid_usage, "expected 0 or 1");
}

Status parse_param(std::string_view text, std::int64_t& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (problem != std::errc() || end != text.data() + text.size())
    return error(Code::invalid_usage, "expected a whole number");
  return {};
}

Status parse_param(std::string_view text, Bytes& out) {
  out.count = GYRE_TRY(parse_bytes(text));
  return {};
}

Status parse_param(std::string_view text, Duration& out) {
  out.nanos = GYRE_TRY(parse_duration(text));
  return {};
}

std::string param_text(const std::string& value) { return value; }
std::string param_text(bool value) { return value ? "1" : "0"; }
std::string param_text(std::int64_t value) { return fmt::format("{}", value); }
std::string param_text(Bytes value) { return bytes_text(value.count); }
std::string param_text(Duration value) { return duration_text(value.nanos); }

std::vector<ParamBase*> all_params() {
  std::vector<ParamBase*> out;
  {
    std::lock_guard lock(registry().mutex);
    out = registry().params;
  }
  std::sort(out.begin(), out.end(), [](auto* a, auto* b) { return a->variable() < b->variable(); });
  return out;
}

std::string nearest_param(const std::string& variable) {
  std::string best;
  std::size_t best_distance = 5;  // further than this is no longer a typing slip
  for (ParamBase* param : all_params()) {
    const std::size_t distance = edit_distance(variable, param->variable());
    if (distance < best_distance) best = param->variable(), best_distance = distance;
  }
  return best;
}

Status check_params() {
  for (ParamBase* param : all_params()) GYRE_TRY(param->check());
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view line = *entry;
    if (line.substr(0, 5) != "GYRE_") continue;
    const std::string name(line.substr(0, line.find('=')));
    const auto known = all_params();
    if (std::any_of(known.begin(), known.end(), [&](auto* p) { return p->variable() == name; }))
      continue;
    if (!log_first("unknown " + name)) continue;
    const std::string near = nearest_param(name);
    GYRE_LOG(warn, "unknown variable {}{}", name,
             near.empty() ? std::string() : ", did you mean " + near + "?");
  }
  return {};
}

}  // namespace gyre
