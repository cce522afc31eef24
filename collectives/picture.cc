// The SVG of print.h: when each turn happens, if every turn takes one unit of time, and where to
// draw.

#include <algorithm>
#include <deque>
#include <map>

#include "collectives/flow.h"
#include "collectives/memory.h"
#include "collectives/print.h"

namespace gyre {
namespace {

struct Point {
  double x = 0, y = 0;
};

struct Line {
  Point from, to;
  bool token = false, window = false;
  std::int32_t block = 0;
};

struct Dot {
  Point at;
  bool reduces = false, data = false;
  std::int32_t block = 0;
  std::string title;
};

std::size_t index(int i) { return static_cast<std::size_t>(i); }

class Picture {
 public:
  Picture(std::span<const Program> programs, const Wiring& wiring)
      : flow_(programs, wiring, 8, [](int, const Lane&) { return std::uint64_t{1}; }),
        sent_(wiring.channels.size()),
        blocks_(programs[0].blocks) {
    std::size_t widest = 1;
    for (const Program& p : programs) widest = std::max(widest, p.lanes.size());
    rank_width_ = std::max(56.0, 26.0 * static_cast<double>(std::min<std::size_t>(widest, 8)));
    width_ = rank_width_ * static_cast<double>(programs.size()) + 40;
    for (int lane = 0; lane < flow_.lanes(); ++lane) {
      const auto lanes = static_cast<double>(flow_.program(lane).lanes.size());
      const double inside = static_cast<double>(lane_in_rank_[flow_.rank(lane)]++) + 0.5;
      column_.push_back(20 + rank_width_ * (flow_.rank(lane) + inside / lanes));
    }
    busy_until_.assign(index(flow_.lanes()), 0);
  }

  Result<std::string> draw(const std::string& title) {
    flow_.run([&](int lane) {
      turn(lane);
      return true;
    });
    if (const std::string stuck = flow_.deadlock(); !stuck.empty())
      return error(Code::internal, "{}", stuck);
    return svg(title);
  }

 private:
  struct Sent {
    double time;
    Point at;
  };

  void turn(int lane) {
    const Program& p = flow_.program(lane);
    const Cursor& c = flow_.cursor(lane);
    const Move& move = c.move();
    std::vector<std::pair<Sent, bool>> heard;
    double time = busy_until_[index(lane)];
    const auto hear = [&](const Ref& ref) {
      auto& edge = sent_[index(flow_.channel(lane, ref))];
      time = std::max(time, edge.front().time);
      heard.emplace_back(edge.front(), ref.place == Place::token);
      edge.pop_front();
    };
    for (const Ref& ref : waits_of(p, move)) hear(ref);
    for (const Ref& ref : sources_of(p, move))
      if (ref.place == Place::fifo) hear(ref);
    ++time;
    busy_until_[index(lane)] = time;
    last_ = std::max(last_, time);
    const Point here{column_[index(lane)], y_of(time)};
    Dot dot{here, move.sources > 1, move.sources > 0, 0,
            flow_.where(lane) + ": " + to_text(p, move)};
    if (move.sources > 0) {
      const Ref named{Place::fifo, 0, 0, extent_block(p, move)};
      dot.block = block_at(p, move, named, c.turn());
    }
    for (const auto& [from, token] : heard)
      lines_.push_back({from.at, here, token, false, dot.block});
    for (int i = 0; i < move.sources + move.targets; ++i)
      if (const Ref& ref = p.refs[move.ref + move.waits + static_cast<unsigned>(i)]; is_peer(ref))
        lines_.push_back({{20 + rank_width_ * (ref.edge + 0.5), here.y - kRow * 0.4},
                          here,
                          false,
                          true,
                          dot.block});
    dots_.push_back(std::move(dot));
    for (const Ref& ref : targets_of(p, move))
      if (ref.place == Place::fifo) sent_[index(flow_.channel(lane, ref))].push_back({time, here});
    for (const Ref& ref : posts_of(p, move))
      sent_[index(flow_.channel(lane, ref))].push_back({time, here});
  }

  std::string colour(std::int32_t block) const {
    return fmt::format("hsl({},65%,45%)", block * 360 / std::max(1, blocks_));
  }

  std::string svg(const std::string& title) const {
    const double height = y_of(last_) + 30;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"white\"/>\n<text x=\"20\" y=\"18\" font-size=\"13\">{}</text>\n",
        width_, height, title);
    for (const auto& [rank, lanes] : lane_in_rank_) {
      const double x = 20 + rank_width_ * (rank + 0.5);
      out += fmt::format("<text x=\"{:.1f}\" y=\"40\" text-anchor=\"middle\">{}</text>\n", x, rank);
    }
    for (const double x : column_)
      out += fmt::format("<path d=\"M{:.1f} 46V{:.1f}\" stroke=\"#ddd\"/>\n", x, height - 20);
    for (const Line& line : lines_)
      out +=
          fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\"{}/>\n", line.from.x,
                      line.from.y, line.to.x, line.to.y, line.token ? "#999" : colour(line.block),
                      line.token    ? " stroke-dasharray=\"2 2\""
                      : line.window ? " stroke-dasharray=\"5 2\""
                                    : "");
    for (const Dot& dot : dots_)
      out += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"{}><title>{}</title></circle>\n",
          dot.at.x, dot.at.y, dot.data ? 5 : 2, dot.data ? colour(dot.block) : "#999",
          dot.reduces ? " stroke=\"black\" stroke-width=\"1.5\"" : "", escaped(dot.title));
    return out + "</svg>\n";
  }

  static std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '>' ? "&gt;" : std::string(1, c);
    return out;
  }

  static constexpr double kRow = 26;
  static double y_of(double time) { return 34 + kRow * time; }

  Flow flow_;
  std::vector<std::deque<Sent>> sent_;
  std::int32_t blocks_;
  double rank_width_ = 0, width_ = 0, last_ = 0;
  std::map<int, int> lane_in_rank_;
  std::vector<double> column_;  // per lane
  std::vector<double> busy_until_;
  std::vector<Line> lines_;
  std::vector<Dot> dots_;
};

}  // namespace

Result<std::string> to_svg(const Shape& shape, std::span<const Program> programs) {
  const Wiring wiring = GYRE_TRY(wire(programs));
  return Picture(programs, wiring)
      .draw(fmt::format("{} {} on {} ranks", to_text(shape.collective), to_text(shape.algorithm),
                        programs.size()));
}

}  // namespace gyre
