// Message sizes as text and as a sweep. Knows binary suffixes and the two ways to step.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perf {

// "8", "512K", "4M", "1.5G", "1T"; binary. Nothing else is accepted.
std::optional<std::size_t> parse_size(std::string_view text);
std::string size_text(std::size_t bytes);

// first, first*factor, ... up to last; with factor 1 by adding step. Needs: factor > 1 or step > 0.
struct Sweep {
  std::size_t first;
  std::size_t last;
  std::size_t step;
  std::size_t factor;
};
std::vector<std::size_t> sizes_of(const Sweep& sweep);

}  // namespace perf
