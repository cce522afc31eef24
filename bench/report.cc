#include "bench/report.h"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <map>

#include <fmt/format.h>

#include "bench/plot.h"

namespace perf {
namespace {

// Taken out of the environment: the library warns of GYRE_ variables that are not its own.
double floor_from_environment() {
  const char* text = std::getenv("GYRE_TESTS_MIN_BW");
  const double floor = text ? std::strtod(text, nullptr) : -1;
  unsetenv("GYRE_TESTS_MIN_BW");
  return floor;
}

// Bus bandwidth and latency of every kind of row, for the picture.
std::vector<Panel> panels_of(const std::vector<Row>& rows) {
  Panel bandwidth{"bus bandwidth", "GB/s", {}};
  Panel latency{"time per operation", "us", {}};
  std::map<std::string, std::size_t> known;
  const auto add = [&](const Row& row, const char* place, const Timing& timing) {
    if (!timing.present) return;
    const std::string name = fmt::format("{} {} {}", row.type, row.op, place);
    const auto [at, fresh] = known.emplace(name, bandwidth.series.size());
    if (fresh) {
      bandwidth.series.push_back({name, {}});
      latency.series.push_back({name, {}});
    }
    const auto bytes = static_cast<double>(row.bytes);
    bandwidth.series[at->second].points.push_back({bytes, timing.bus_gbps});
    latency.series[at->second].points.push_back({bytes, timing.seconds * 1e6});
  };
  for (const Row& row : rows) {
    add(row, "out of place", row.out);
    add(row, "in place", row.in);
  }
  return {bandwidth, latency};
}

}  // namespace

Report::Report(const Options& options, const Collective& collective)
    : options_(options),
      floor_gbps_(floor_from_environment()),
      rows_expected_(sizes_of(options.sweep).size() * options.types.size() *
                     (collective.reduces ? options.ops.size() : 1) *
                     static_cast<std::size_t>(options.cycles)),
      terminal_(isatty(STDERR_FILENO) == 1) {
  results_.started = std::time(nullptr);
}

Report::~Report() {
  if (csv_) std::fclose(csv_);
}

bool Report::put(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  bool whole = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file) whole = std::fclose(file) == 0 && whole;
  if (!whole) fmt::print(stderr, "{}: cannot write {}\n", options_.program, path);
  return whole;
}

bool Report::open() {
  for (const std::string& note : options_.notes)
    fmt::print(stderr, "{}: {}\n", options_.program, note);
  if (!options_.json.empty() && !put(options_.json, json_text(options_, results_, floor_gbps_)))
    return false;
  if (!options_.plot.empty() && !put(options_.plot, svg_text(options_.program, {}))) return false;
  if (options_.csv.empty()) return true;
  csv_ = std::fopen(options_.csv.c_str(), "w");
  if (!csv_) {
    fmt::print(stderr, "{}: cannot write {}\n", options_.program, options_.csv);
    return false;
  }
  fmt::print(csv_, "{}", csv_head());
  std::fflush(csv_);
  return true;
}

void Report::take(const Event& event) {
  switch (event.kind) {
    case Event::card:
      return take_card(event.rank);
    case Event::row:
      return take_row(event.line);
    case Event::memory:
      memory_ += fmt::format("# Rank {:>3} memory: {} bytes resident\n", event.rank.rank,
                             event.rank.resident_bytes);
      return;
    case Event::done:
      return;
  }
}

void Report::take_card(const RankCard& card) {
  results_.ranks.push_back(card);
  if (card.rank + 1 < card.ranks) return;
  fmt::print("{}{}", header_text(options_, results_.ranks), columns_text(options_));
  std::fflush(stdout);
  show_progress();
}

void Report::take_row(const Row& row) {
  results_.rows.push_back(row);
  clear_progress();
  fmt::print("{}", row_text(options_, row));
  std::fflush(stdout);
  if (csv_) {
    fmt::print(csv_, "{}", csv_lines(options_, static_cast<int>(results_.ranks.size()), row));
    std::fflush(csv_);
  }
  show_progress();
}

void Report::show_progress() {
  if (!terminal_) return;
  const std::string of = rows_expected_ > 0 ? fmt::format(" of {}", rows_expected_) : "";
  fmt::print(stderr, "# row {}{} ...", results_.rows.size() + 1, of);
}

void Report::clear_progress() {
  if (terminal_) fmt::print(stderr, "\r\033[K");
}

void Report::write_files() {
  if (!options_.json.empty() && !put(options_.json, json_text(options_, results_, floor_gbps_)))
    files_written_ = false;
  const std::string title = fmt::format("{}, {} ranks", options_.program, results_.ranks.size());
  if (!options_.plot.empty() && !put(options_.plot, svg_text(title, panels_of(results_.rows))))
    files_written_ = false;
  if (!csv_) return;
  for (const std::string& error : results_.errors)
    fmt::print(csv_, "{}", csv_error(options_, static_cast<int>(results_.ranks.size()), error));
  if (std::fflush(csv_) != 0) files_written_ = false;
}

int Report::finish(const std::vector<std::string>& errors, bool mute) {
  clear_progress();
  for (const std::string& error : errors) fmt::print(stderr, "{}: {}\n", options_.program, error);
  if (mute) return errors.empty() ? 0 : 1;
  results_.errors = errors;
  results_.ended = std::time(nullptr);
  const Summary summary = summary_of(results_.rows);
  fmt::print("{}{}", memory_, footer_text(options_, summary, floor_gbps_, errors));
  std::fflush(stdout);
  write_files();
  const bool right = errors.empty() && summary.wrong == 0 && files_written_;
  return right && is_fast_enough(summary, floor_gbps_) ? 0 : 1;
}

}  // namespace perf
