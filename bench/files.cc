// The JSON and CSV of one run. The JSON keeps nccl-tests' keys, and like it writes booleans as
// strings, so that scripts made for either read both.
#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/report.h"
#include "gyre/gyre.h"

namespace perf {
namespace {

using Json = nlohmann::ordered_json;

std::string date_text(std::int64_t seconds) {
  const std::time_t when = seconds;
  std::tm parts{};
  gmtime_r(&when, &parts);
  char text[40];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

const char* yes_no(bool value) { return value ? "true" : "false"; }

Json timing_json(const Timing& timing) {
  Json json;
  json["time"] = timing.seconds * 1e6;
  json["alg_bw"] = timing.algorithm_gbps;
  json["bus_bw"] = timing.bus_gbps;
  json["nwrong"] = timing.wrong < 0 ? Json("N/A") : Json(timing.wrong);
  return json;
}

Json figures_json(const Options& options, const Timing& timing) {
  Json json;
  json["skipped"] = options.per_iteration ? options.skipped : 0;
  json["samples"] = timing.samples;
  json["min_us"] = timing.min * 1e6;
  json["max_us"] = timing.max * 1e6;
  json["avg"] = timing.average * 1e6;
  json["p50"] = timing.p50 * 1e6;
  json["p95"] = timing.p95 * 1e6;
  json["p99"] = timing.p99 * 1e6;
  json["stdev"] = timing.deviation * 1e6;
  json["cv_pct"] = timing.average > 0 ? 100 * timing.deviation / timing.average : 0;
  return json;
}

Json row_json(const Options& options, const Row& row) {
  Json json;
  json["size"] = row.bytes;
  json["count"] = row.count;
  json["type"] = row.type;
  json["redop"] = row.op;
  json["root"] = row.root;
  if (row.out.present) json["out_of_place"] = timing_json(row.out);
  if (row.in.present) json["in_place"] = timing_json(row.in);
  if (row.out.samples > 0) json["out_of_place_per_iter"] = figures_json(options, row.out);
  if (row.in.samples > 0) json["in_place_per_iter"] = figures_json(options, row.in);
  return json;
}

Json config_json(const Options& options) {
  Json json;
  json["nthreads"] = options.threads;
  json["ngpus_per_thread"] = options.per_thread;
  json["minimum_bytes"] = options.sweep.first;
  json["maximum_bytes"] = options.sweep.last;
  json["step_bytes"] = options.sweep.step;
  json["step_factor"] = options.sweep.factor;
  json["warmup_iters"] = options.warmups;
  json["iterations"] = options.iterations;
  json["aggregated_iterations"] = options.aggregate;
  json["validation"] = options.checks;
  json["memory"] = static_cast<int>(options.memory);
  json["touch"] = options.touch == Touch::hot ? "hot" : "produced";
  json["transport"] = options.transport;
  json["algorithm"] = options.algorithm;
  return json;
}

Json environment_json() {
  Json json = Json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const std::size_t equal = text.find('=');
    if (text.starts_with("GYRE_") && equal != std::string::npos)
      json[text.substr(0, equal)] = text.substr(equal + 1);
  }
  return json;
}

std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '"');
  return '"' + text + '"';
}

std::string csv_line(const Options& options, int ranks, const Row& row, const char* place,
                     const Timing& t) {
  const std::string wrong = t.wrong < 0 ? "" : fmt::format("{}", t.wrong);
  std::string figures = ",,,,,,";
  if (t.samples > 0)
    figures = fmt::format("{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},", t.min * 1e6, t.max * 1e6,
                          t.p50 * 1e6, t.p95 * 1e6, t.p99 * 1e6, t.deviation * 1e6);
  return fmt::format("{},{},{},{},{},{},{},{},{},{:.3f},{:.6g},{:.6g},{},{},{}\n", kSchemaVersion,
                     options.program, ranks, row.bytes, row.count, row.type, row.op, row.root,
                     place, t.seconds * 1e6, t.algorithm_gbps, t.bus_gbps, wrong, t.samples,
                     figures);
}

}  // namespace

std::string json_text(const Options& options, const Results& results, double floor_gbps) {
  const Summary summary = summary_of(results.rows);
  Json json;
  json["schema"] = "gyre-perf";
  json["version"] = kSchemaVersion;
  json["program"] = options.program;
  json["start_time"] = date_text(results.started);
  json["args"] = options.arguments;
  json["env"] = environment_json();
  json["gyre_version"] = {
      {"headers", GYRE_VERSION_CODE},
      {"library", results.ranks.empty() ? 0 : results.ranks.front().library_version}};
  json["config"] = config_json(options);
  Json devices = Json::array();
  for (const RankCard& rank : results.ranks)
    devices.push_back({{"rank", rank.rank},
                       {"pid", rank.pid},
                       {"host", rank.host},
                       {"cpu", rank.cpu},
                       {"device", "host memory"}});
  json["config"]["devices"] = devices;
  json["results"] = Json::array();
  for (const Row& row : results.rows) json["results"].push_back(row_json(options, row));
  json["out_of_bounds"] = {{"count", summary.wrong}, {"okay", yes_no(summary.wrong == 0)}};
  json["average_bus_bandwidth"] = {{"bandwidth", summary.average_gbps},
                                   {"okay", yes_no(is_fast_enough(summary, floor_gbps))}};
  json["peak_bus_bandwidth"] = {{"bandwidth", summary.peak_gbps}, {"size", summary.peak_bytes}};
  json["largest_size"] = {{"bandwidth", summary.largest_gbps}, {"size", summary.largest_bytes}};
  json["errors"] = results.errors;
  json["end_time"] = date_text(results.ended);
  // Texts of the system may be in any encoding; the file must be valid all the same.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string csv_head() {
  return "version,program,ranks,size_bytes,count,type,redop,root,placement,time_us,algbw_gbps,"
         "busbw_gbps,wrong,samples,min_us,max_us,p50_us,p95_us,p99_us,stdev_us,error\n";
}

std::string csv_lines(const Options& options, int ranks, const Row& row) {
  std::string text;
  if (row.out.present) text += csv_line(options, ranks, row, "out_of_place", row.out);
  if (row.in.present) text += csv_line(options, ranks, row, "in_place", row.in);
  return text;
}

std::string csv_error(const Options& options, int ranks, const std::string& error) {
  return fmt::format("{},{},{},,,,,,,,,,,,,,,,,,{}\n", kSchemaVersion, options.program, ranks,
                     quoted(error));
}

}  // namespace perf
