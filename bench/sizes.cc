#include "bench/sizes.h"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace perf {

std::optional<std::size_t> parse_size(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  const std::string number(text.substr(0, digits));
  std::string_view suffix = digits == std::string_view::npos ? "" : text.substr(digits);
  if (number.empty() || number.front() == '.' || number.find('.') != number.rfind('.'))
    return std::nullopt;
  double unit = 1;
  if (!suffix.empty()) {
    const std::size_t power = std::string_view("KkMmGgTt").find(suffix[0]);
    if (suffix.size() > 1 || power == std::string_view::npos) return std::nullopt;
    unit = std::ldexp(1.0, 10 * static_cast<int>(power / 2 + 1));
  }
  const double bytes = std::strtod(number.c_str(), nullptr) * unit;
  if (bytes > 1e15 || bytes != std::floor(bytes)) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

std::string size_text(std::size_t bytes) {
  for (int power = 4; power > 0; --power) {
    const std::size_t unit = std::size_t{1} << (10 * power);
    if (bytes >= unit && bytes % unit == 0)
      return fmt::format("{}{}", bytes / unit, " KMGT"[power]);
  }
  return fmt::format("{}", bytes);
}

std::vector<std::size_t> sizes_of(const Sweep& sweep) {
  std::vector<std::size_t> sizes;
  std::size_t size = sweep.first;
  while (size <= sweep.last) {
    sizes.push_back(size);
    // A sweep that starts at 0 cannot grow by a factor: its second size is the step.
    const bool by_factor = sweep.factor > 1 && size > 0;
    size = by_factor ? size * sweep.factor : size + (sweep.step > 0 ? sweep.step : 1);
  }
  return sizes;
}

}  // namespace perf
