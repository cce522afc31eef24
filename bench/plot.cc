#include "bench/plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "bench/sizes.h"

namespace perf {
namespace {

// Readable by the colour-blind, and dark enough on white (after Okabe and Ito).
constexpr std::array<const char*, 8> kColors = {"#0072b2", "#d55e00", "#009e73", "#aa4499",
                                                "#b8860b", "#56b4e9", "#444444", "#882255"};
constexpr double kPanelWidth = 520, kPanelHeight = 360, kLeft = 62, kRight = 16, kTop = 64;
constexpr double kBottom = 46, kLegendLine = 20, kLegendColumn = 240;
constexpr const char* kInk = "#222222";
constexpr const char* kGrid = "#e4e4e4";

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

struct Range {
  double first = 0, last = 0;
  void cover(double value) {
    first = first > 0 ? std::min(first, value) : value;
    last = std::max(last, value);
  }
};

// One panel's place on the sheet and its two logarithmic scales.
struct Frame {
  double left, top, width, height;
  Range bytes, values;

  double x(double value) const { return left + width * share(bytes, value); }
  double y(double value) const { return top + height * (1 - share(values, value)); }
  static double share(const Range& range, double value) {
    const double span = std::log(range.last / range.first);
    return span > 0 ? std::log(value / range.first) / span : 0.5;
  }
};

std::string text_at(double x, double y, const char* anchor, int size, const std::string& text) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\" fill=\"{}\">{}</text>\n",
      x, y, anchor, size, kInk, escaped(text));
}

std::string line_between(double x1, double y1, double x2, double y2, const char* color) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2,
      y2, color);
}

// Powers of two, thinned until labels have room.
std::string bytes_axis(const Frame& frame) {
  std::string svg;
  const int first = static_cast<int>(std::ceil(std::log2(frame.bytes.first) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(frame.bytes.last) + 1e-9));
  const int stride = std::max(1, (last - first + 9) / 10);
  for (int power = first; power <= last; power += stride) {
    const double bytes = std::ldexp(1.0, power);
    const double x = frame.x(bytes);
    svg += line_between(x, frame.top, x, frame.top + frame.height, kGrid);
    svg += text_at(x, frame.top + frame.height + 17, "middle", 12,
                   size_text(static_cast<std::size_t>(bytes)));
  }
  return svg + text_at(frame.left + frame.width / 2, frame.top + frame.height + 36, "middle", 12,
                       "bytes");
}

// 1, 2, 5 of every decade; only 1 when there are many decades.
std::string values_axis(const Frame& frame) {
  std::string svg;
  const int first = static_cast<int>(std::floor(std::log10(frame.values.first)));
  const int last = static_cast<int>(std::ceil(std::log10(frame.values.last)));
  for (int decade = first; decade <= last; ++decade) {
    for (int digit : {1, 2, 5}) {
      if (digit > 1 && last - first > 3) continue;
      const double value = digit * std::pow(10, decade);
      if (value < frame.values.first * 0.999 || value > frame.values.last * 1.001) continue;
      const double y = frame.y(value);
      svg += line_between(frame.left, y, frame.left + frame.width, y, kGrid);
      svg += text_at(frame.left - 7, y + 4, "end", 12, fmt::format("{:g}", value));
    }
  }
  return svg;
}

std::string curve(const Frame& frame, const Series& series, const char* color) {
  std::string path, dots;
  for (const auto& [bytes, value] : series.points) {
    if (bytes <= 0 || value <= 0) continue;
    const double x = frame.x(bytes), y = frame.y(value);
    path += fmt::format("{:.1f},{:.1f} ", x, y);
    dots +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"{}\"/>\n", x, y, color);
  }
  return fmt::format(
             "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" "
             "stroke-linejoin=\"round\"/>\n",
             path, color) +
         dots;
}

// Every name once, in order of appearance: its place is its colour in all panels.
std::vector<std::string> names_of(const std::vector<Panel>& panels) {
  std::vector<std::string> names;
  for (const Panel& panel : panels)
    for (const Series& series : panel.series)
      if (std::find(names.begin(), names.end(), series.name) == names.end())
        names.push_back(series.name);
  return names;
}

const char* color_of(const std::vector<std::string>& names, const std::string& name) {
  const auto at = std::find(names.begin(), names.end(), name) - names.begin();
  return kColors[static_cast<std::size_t>(at) % kColors.size()];
}

std::string panel_svg(const Panel& panel, double left, const std::vector<std::string>& names) {
  Frame frame{left + kLeft, kTop, kPanelWidth - kLeft - kRight, kPanelHeight - kTop - kBottom,
              {},           {}};
  for (const Series& series : panel.series) {
    for (const auto& [bytes, value] : series.points) {
      if (bytes <= 0 || value <= 0) continue;
      frame.bytes.cover(bytes);
      frame.values.cover(value);
    }
  }
  std::string svg =
      text_at(frame.left, kTop - 12, "start", 14, fmt::format("{} ({})", panel.title, panel.unit));
  if (frame.bytes.last <= 0)
    return svg + text_at(frame.left, kTop + 20, "start", 12, "nothing was measured");
  // A little air, so that no curve runs along the frame.
  frame.values.first /= 1.15;
  frame.values.last *= 1.15;
  svg += bytes_axis(frame) + values_axis(frame);
  svg += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
      "stroke=\"#999999\"/>\n",
      frame.left, frame.top, frame.width, frame.height);
  for (const Series& series : panel.series)
    svg += curve(frame, series, color_of(names, series.name));
  return svg;
}

std::string legend_svg(const std::vector<std::string>& names, std::size_t columns) {
  std::string svg;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t line = i / columns;
    const double x = kLeft + kLegendColumn * static_cast<double>(i % columns);
    const double y = kPanelHeight + 14 + kLegendLine * static_cast<double>(line);
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"18\" height=\"4\" fill=\"{}\"/>\n",
                       x, y - 6, color_of(names, names[i]));
    svg += text_at(x + 25, y, "start", 13, names[i]);
  }
  return svg;
}

}  // namespace

std::string svg_text(const std::string& title, const std::vector<Panel>& panels) {
  const double width = kPanelWidth * static_cast<double>(std::max<std::size_t>(1, panels.size()));
  const std::vector<std::string> names = names_of(panels);
  const auto columns = static_cast<std::size_t>((width - 20) / kLegendColumn);
  const std::size_t lines = (names.size() + columns - 1) / columns;
  const double height = kPanelHeight + 16 + kLegendLine * static_cast<double>(lines);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height);
  svg += text_at(kLeft, 26, "start", 17, title);
  for (std::size_t i = 0; i < panels.size(); ++i)
    svg += panel_svg(panels[i], kPanelWidth * static_cast<double>(i), names);
  return svg + legend_svg(names, columns) + "</svg>\n";
}

}  // namespace perf
