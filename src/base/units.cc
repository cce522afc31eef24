#include "base/units.h"

#include <array>
#include <charconv>
#include <cmath>

namespace gyre {

namespace {

struct Unit {
  std::string_view name;
  double scale;
};

// Leading number; `rest` is what follows it. Negative, NaN and overflow are refused.
Result<double> leading_number(std::string_view text, std::string_view& rest) {
  double value = 0;
  const auto [end, problem] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (problem != std::errc() || !std::isfinite(value) || value < 0 || text.front() == '-')
    return error(Code::invalid_argument, "'{}' does not begin with a number", text);
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

template <std::size_t N>
Result<std::int64_t> scaled(std::string_view text, const std::array<Unit, N>& units,
                            const char* what) {
  std::string_view rest;
  const double value = GYRE_TRY(leading_number(text, rest));
  for (const Unit& unit : units) {
    if (rest != unit.name) continue;
    const double product = value * unit.scale;
    if (product >= 9.2e18) return error(Code::invalid_argument, "'{}' is too large", text);
    return static_cast<std::int64_t>(std::llround(product));
  }
  return error(Code::invalid_argument, "'{}' is no {}: unknown unit '{}'", text, what, rest);
}

}  // namespace

Result<std::uint64_t> parse_bytes(std::string_view text) {
  static constexpr double kKi = 1024;
  static constexpr std::array<Unit, 16> kUnits = {{{"", 1},
                                                   {"B", 1},
                                                   {"K", kKi},
                                                   {"k", kKi},
                                                   {"KB", kKi},
                                                   {"KiB", kKi},
                                                   {"M", kKi * kKi},
                                                   {"m", kKi * kKi},
                                                   {"MB", kKi * kKi},
                                                   {"MiB", kKi * kKi},
                                                   {"G", kKi * kKi * kKi},
                                                   {"g", kKi * kKi * kKi},
                                                   {"GB", kKi * kKi * kKi},
                                                   {"GiB", kKi * kKi * kKi},
                                                   {"T", kKi * kKi * kKi * kKi},
                                                   {"TiB", kKi * kKi * kKi * kKi}}};
  if (text.empty()) return error(Code::invalid_argument, "a size is missing");
  return static_cast<std::uint64_t>(GYRE_TRY(scaled(text, kUnits, "size")));
}

std::string bytes_text(std::uint64_t bytes) {
  for (const auto& [shift, name] : {std::pair{30, "GiB"}, {20, "MiB"}, {10, "KiB"}})
    if (bytes >> shift && bytes % (std::uint64_t{1} << shift) == 0)
      return fmt::format("{} {}", bytes >> shift, name);
  return fmt::format("{} B", bytes);
}

Result<Nanos> parse_duration(std::string_view text) {
  static constexpr std::array<Unit, 8> kUnits = {{{"", 1e9},
                                                  {"ns", 1},
                                                  {"us", 1e3},
                                                  {"ms", 1e6},
                                                  {"s", 1e9},
                                                  {"m", 60e9},
                                                  {"min", 60e9},
                                                  {"h", 3600e9}}};
  if (text.empty()) return error(Code::invalid_argument, "a duration is missing");
  return scaled(text, kUnits, "duration");
}

std::string duration_text(Nanos span) {
  if (span % 1'000'000'000 == 0) return fmt::format("{} s", span / 1'000'000'000);
  if (span % 1'000'000 == 0) return fmt::format("{} ms", span / 1'000'000);
  return fmt::format("{} ns", span);
}

}  // namespace gyre
