#include "bench/table.h"

#include <cmath>
#include <ctime>

#include <fmt/format.h>

#include "gyre/gyre.h"

namespace perf {
namespace {

std::string version_text(int code) {
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

const char* memory_text(Memory memory) {
  switch (memory) {
    case Memory::plain:
      return "plain";
    case Memory::registered:
      return "gyreMemAlloc, registered";
    case Memory::window:
      return "gyreMemAlloc, symmetric window";
  }
  return "?";
}

std::string timing_text(const Options& options, const Timing& timing) {
  if (!timing.present) {
    std::string text = fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
    if (options.per_iteration) text += fmt::format("{:>9}{:>9}{:>9}{:>9}{:>7}", "", "", "", "", "");
    return text;
  }
  std::string text =
      fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", number_text(timing.seconds * 1e6, 7),
                  number_text(timing.algorithm_gbps, 6), number_text(timing.bus_gbps, 6),
                  timing.wrong < 0 ? "N/A" : fmt::format("{}", timing.wrong));
  if (options.per_iteration) {
    for (double seconds : {timing.min, timing.max, timing.p50, timing.p99})
      text += fmt::format("  {:>7}", number_text(seconds * 1e6, 7));
    const double spread = timing.average > 0 ? 100 * timing.deviation / timing.average : 0;
    text += fmt::format("  {:>5}", number_text(spread, 5));
  }
  return text;
}

std::string clock_text(std::int64_t seconds) {
  const std::time_t when = seconds;
  std::tm parts{};
  gmtime_r(&when, &parts);
  char text[40];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

std::string number_text(double value, int width) {
  for (int decimals = 2; decimals >= 0; --decimals) {
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (static_cast<int>(text.size()) <= width) return text;
  }
  return fmt::format("{:.0e}", value);
}

std::string header_text(const Options& options, const std::vector<RankCard>& ranks) {
  const int library = ranks.empty() ? 0 : ranks.front().library_version;
  std::string text =
      fmt::format("# {} version {} gyre-headers={} gyre-library={}\n", options.program,
                  version_text(GYRE_VERSION_CODE), GYRE_VERSION_CODE, library);
  text += fmt::format("# Collective test starting: {}\n", options.program);
  text += fmt::format(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} "
      "agg iters: {} validation: {} graph: 0\n",
      options.threads, options.per_thread, options.sweep.first, options.sweep.last,
      options.sweep.factor > 1 ? options.sweep.factor : options.sweep.step,
      options.sweep.factor > 1 ? "factor" : "bytes", options.warmups, options.iterations,
      options.aggregate, options.checks);
  text += fmt::format("# memory: host, {}; touch: {}; transport: {}; algorithm: {}; stream: {}\n",
                      memory_text(options.memory),
                      options.touch == Touch::hot ? "hot (same buffers again and again)"
                                                  : "produced (input rewritten before each)",
                      options.transport.empty() ? "auto" : options.transport,
                      options.algorithm.empty() ? "auto" : options.algorithm,
                      options.null_stream ? "calling thread" : "host stream");
  text += "#\n# Using devices\n";
  for (const RankCard& rank : ranks)
    text += fmt::format("#  Rank {:>3} Group  0 Pid {:>7} on {:>10} host memory, cpu {}\n",
                        rank.rank, rank.pid, rank.host, rank.cpu);
  return text + "#\n";
}

std::string columns_text(const Options& options) {
  std::string names, units, places = fmt::format("# {:>52}", "");
  for (const char* place : {"out-of-place", "in-place"}) {
    names += fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", options.cpu_time ? "cputime" : "time",
                         "algbw", "busbw", "#wrong");
    units += fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
    std::size_t width = 33;
    if (options.per_iteration) {
      names += fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}  {:>5}", "min", "max", "p50", "p99", "cv");
      units +=
          fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}  {:>5}", "(us)", "(us)", "(us)", "(us)", "(%)");
      width += 43;
    }
    places += fmt::format("{:^{}}", place, width);
  }
  if (options.timestamps) names += fmt::format("  {:>20}", "timestamp");
  return fmt::format(
      "{}\n# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}\n# {:>10}  {:>12}  {:>8}  {:>6}"
      "  {:>6}{}\n",
      places, "size", "count", "type", "redop", "root", names, "(B)", "(elements)", "", "", "",
      units);
}

std::string row_text(const Options& options, const Row& row) {
  std::string text = fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", row.bytes, row.count,
                                 row.type, row.op, row.root);
  text += timing_text(options, row.out) + timing_text(options, row.in);
  if (options.timestamps) text += "  " + clock_text(row.unix_seconds);
  return text + "\n";
}

Summary summary_of(const std::vector<Row>& rows) {
  Summary summary;
  double total = 0;
  int timings = 0;
  for (const Row& row : rows) {
    for (const Timing& timing : {row.out, row.in}) {
      if (!timing.present) continue;
      total += timing.bus_gbps;
      ++timings;
      if (timing.wrong >= 0) summary.checked = true;
      if (timing.wrong > 0) summary.wrong += timing.wrong;
      if (timing.bus_gbps > summary.peak_gbps) {
        summary.peak_gbps = timing.bus_gbps;
        summary.peak_bytes = row.bytes;
      }
      if (row.bytes > summary.largest_bytes) summary.largest_gbps = 0;
      if (row.bytes >= summary.largest_bytes) {
        summary.largest_bytes = row.bytes;
        summary.largest_gbps = std::fmax(summary.largest_gbps, timing.bus_gbps);
      }
    }
  }
  summary.average_gbps = timings > 0 ? total / timings : 0;
  return summary;
}

bool is_fast_enough(const Summary& summary, double floor_gbps) {
  // nccl-tests' slack: a tenth below the bar still passes.
  return floor_gbps < 0 || summary.average_gbps >= 0.9 * floor_gbps;
}

std::string footer_text(const Options& options, const Summary& summary, double floor_gbps,
                        const std::vector<std::string>& errors) {
  const bool right = summary.wrong == 0 && errors.empty();
  std::string verdict = right ? "OK" : "FAILED";
  if (right && !summary.checked) verdict = "N/A, nothing was checked";
  std::string text = fmt::format("# Out of bounds values : {} {}\n", summary.wrong, verdict);
  text += fmt::format("# Avg bus bandwidth    : {:g}", summary.average_gbps);
  if (floor_gbps >= 0)
    text += fmt::format(" {} (bar {:g})", is_fast_enough(summary, floor_gbps) ? "OK" : "FAILED",
                        floor_gbps);
  text += fmt::format("\n# Peak bus bandwidth   : {:g} at {}\n", summary.peak_gbps,
                      size_text(summary.peak_bytes));
  text += fmt::format("# At the largest size  : {:g} at {}\n", summary.largest_gbps,
                      size_text(summary.largest_bytes));
  for (const std::string& error : errors) text += fmt::format("# Error: {}\n", error);
  text +=
      "# algbw = size / time. busbw = algbw x what an ideal ring moves over its busiest link per\n"
      "# byte: 2(n-1)/n all_reduce; (n-1)/n all_gather, reduce_scatter, alltoall, gather, "
      "scatter;\n"
      "# 1 broadcast, reduce, sendrecv, hypercube; 0 for one rank. Algorithms that are not rings\n"
      "# can exceed what a link carries. The average is over all sizes: quote the peak instead.\n";
  return text + fmt::format("#\n# Collective test concluded: {}\n", options.program);
}

}  // namespace perf
