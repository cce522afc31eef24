#include "topology/xml_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "topology/xml.h"

namespace gyre {

namespace {

constexpr std::size_t kIgnoredNamesMax = 16;

// Decimal, or hexadecimal after 0x; the whole text.
bool parse_word(std::string_view text, std::uint64_t& out) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, out, hex ? 16 : 10);
  return problem == std::errc() && rest == end && !text.empty();
}

bool parse_real(std::string_view text, double& out, std::string_view& rest) {
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, out);
  rest = std::string_view(stop, static_cast<std::size_t>(end - stop));
  return problem == std::errc() && std::isfinite(out) && out >= 0 && !std::signbit(out);
}

}  // namespace

XmlSource::XmlSource(std::string_view text, std::string name) : name_(std::move(name)) {
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') line_starts_.push_back(i + 1);
}

std::size_t XmlSource::line_of(std::ptrdiff_t offset) const {
  const auto at = static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0));
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), at);
  return static_cast<std::size_t>(after - line_starts_.begin());
}

std::size_t XmlSource::line_of(const pugi::xml_node& element) const {
  return line_of(element.offset_debug());
}

Error XmlSource::error_at(const pugi::xml_node& element, const std::string& what) const {
  return error(Code::invalid_argument, "{}:{}: <{:.40}> {}", name_, line_of(element),
               element.name(), what);
}

void XmlSource::ignored(const std::string& what, const pugi::xml_node& element) {
  if (ignored_line_ == 0) ignored_line_ = line_of(element);
  if (ignored_.size() < kIgnoredNamesMax) ignored_.insert(what);
}

std::string XmlSource::warning() const {
  if (ignored_.empty()) return {};
  return fmt::format("{}: not known and ignored, first in line {}: {}", name_, ignored_line_,
                     fmt::join(ignored_, ", "));
}

const char* XmlFields::take(const char* name) {
  taken_.insert(name);
  const pugi::xml_attribute attribute = element_.attribute(name);
  return attribute ? attribute.value() : nullptr;
}

Error XmlFields::wrong(const char* name, const std::string& found,
                       const std::string& expected) const {
  return source_.error_at(element_,
                          fmt::format("{}: '{:.60}' found, expected {}", name, found, expected));
}

Status XmlFields::need(const char* name) const {
  if (element_.attribute(name)) return {};
  return source_.error_at(element_, fmt::format("{}: attribute missing", name));
}

Status XmlFields::text(const char* name, std::string& out) {
  const char* const found = take(name);
  if (found == nullptr) return {};
  const std::string value = found;
  if (value.size() > kXmlTextMax)
    return wrong(name, value, fmt::format("at most {} characters", kXmlTextMax));
  if (std::any_of(value.begin(), value.end(), [](char c) { return c < ' ' || c > '~'; }))
    return source_.error_at(element_, fmt::format("{}: expected printable ASCII", name));
  out = value;
  return {};
}

Status XmlFields::integer(const char* name, std::int64_t least, std::int64_t most, int& out) {
  const char* const found = take(name);
  if (found == nullptr) return {};
  const std::string_view digits = found;
  const bool negative = digits.starts_with('-');
  std::uint64_t magnitude = 0;
  const bool whole = parse_word(digits.substr(negative ? 1 : 0), magnitude);
  const bool small = magnitude <= std::uint64_t{std::numeric_limits<std::int32_t>::max()};
  const auto value = static_cast<std::int64_t>(magnitude) * (negative ? -1 : 1);
  if (!whole || !small || value < least || value > most)
    return wrong(name, found, fmt::format("a number from {} to {}", least, most));
  out = static_cast<int>(value);
  return {};
}

Status XmlFields::word(const char* name, std::uint64_t most, std::uint64_t& out) {
  const char* const found = take(name);
  if (found == nullptr) return {};
  std::uint64_t value = 0;
  if (!parse_word(found, value) || value > most)
    return wrong(name, found, fmt::format("a number up to {:#x}, decimal or 0x...", most));
  out = value;
  return {};
}

Status XmlFields::word(const char* name, std::uint32_t& out) {
  std::uint64_t wide = out;
  GYRE_TRY(word(name, 0xffffff, wide));
  out = static_cast<std::uint32_t>(wide);
  return {};
}

Status XmlFields::real(const char* name, double& out) {
  const char* const found = take(name);
  if (found == nullptr) return {};
  double value = 0;
  std::string_view rest;
  if (!parse_real(found, value, rest) || !rest.empty())
    return wrong(name, found, "a number that is not negative");
  out = value;
  return {};
}

Status XmlFields::flag(const char* name, bool& out) {
  int value = out ? 1 : 0;
  GYRE_TRY(integer(name, 0, 1, value));
  out = value == 1;
  return {};
}

Status XmlFields::link_speed(const char* name, double& out) {
  const char* const found = take(name);
  // The kernel says "Unknown" or "Unknown speed" of devices without a link.
  if (found == nullptr || *found == 0 || std::string_view(found).starts_with("Unknown")) return {};
  double value = 0;
  std::string_view rest;
  if (!parse_real(found, value, rest) || !(rest == "" || rest == " GT/s" || rest == " GT/s PCIe"))
    return wrong(name, found, "a rate like '16 GT/s PCIe'");
  out = value;
  return {};
}

void XmlFields::finish() {
  for (const pugi::xml_attribute& attribute : element_.attributes())
    if (!taken_.contains(attribute.name()))
      source_.ignored(fmt::format("{:.40} {:.40}", element_.name(), attribute.name()), element_);
}

}  // namespace gyre
