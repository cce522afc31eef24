// Curves as SVG: size on a logarithmic axis, values on another. Knows ink and axes; not what the
// values mean.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace perf {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // bytes, value; what is not positive is left out
};

struct Panel {
  std::string title;
  std::string unit;
  std::vector<Series> series;
};

// Panels side by side, one legend for all below: a name has one colour.
std::string svg_text(const std::string& title, const std::vector<Panel>& panels);

}  // namespace perf
