// Lines "panel|unit|series|bytes|value" on stdin become curves as SVG on stdout. Title: argument 1.
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "bench/plot.h"

namespace {

// The element called `name`, made at first use; few enough that order of appearance is kept so.
template <class List, class Make>
auto& named(List& list, std::string_view name, Make make, auto name_of) {
  for (auto& one : list)
    if (name_of(one) == name) return one;
  list.push_back(make());
  return list.back();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<perf::Panel> panels;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream fields(line);
    std::string title, unit, series, bytes, value;
    for (std::string* field : {&title, &unit, &series, &bytes, &value})
      std::getline(fields, *field, '|');
    perf::Panel& panel = named(
        panels, title,
        [&] {
          return perf::Panel{title, unit, {}};
        },
        [](const perf::Panel& p) { return p.title; });
    perf::Series& curve = named(
        panel.series, series,
        [&] {
          return perf::Series{series, {}};
        },
        [](const perf::Series& s) { return s.name; });
    curve.points.emplace_back(std::strtod(bytes.c_str(), nullptr),
                              std::strtod(value.c_str(), nullptr));
  }
  std::cout << perf::svg_text(argc > 1 ? argv[1] : "", panels);
}
