#include "bench/options.h"

#include <cstdio>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace perf {
namespace {

// Values as typed, before they become Options.
struct Typed {
  std::string first = "32M", last = "32M", step = "1M", type = "float", op = "sum", root = "0";
  std::string touch = "hot", ranks_as = "process", device = "auto";
  std::size_t factor = 1;
  int null_stream = 1, reduce = 1, memory = 0, graph = 0, policy = 0, implementation = 0;
  int device_blocks = 16, parallel_init = 0, cpu_time = 0, timestamps = 0, memory_report = 0;
  int per_iteration = 0;
};

void add_sizes_and_counts(CLI::App& app, Typed& typed, Options& options) {
  const CLI::Range positive(1, 1 << 30);
  const CLI::Range natural(0, 1 << 30);
  app.add_option("-t,--nthreads", options.threads, "threads; ranks are t times g")
      ->check(CLI::Range(1, 1024));
  app.add_option("-g,--ngpus", options.per_thread, "local ranks per thread")
      ->check(CLI::Range(1, 1024));
  app.add_option("-b,--minbytes", typed.first, "first size; K M G are binary");
  app.add_option("-e,--maxbytes", typed.last, "last size");
  app.add_option("-i,--stepbytes", typed.step, "size added at each step (without -f)");
  app.add_option("-f,--stepfactor", typed.factor, "factor at each step")->check(positive);
  app.add_option("-n,--iters", options.iterations, "timed operations per row")->check(positive);
  app.add_option("-w,--warmup_iters", options.warmups, "untimed operations before")->check(natural);
  app.add_option("-m,--agg_iters", options.aggregate, "operations per group")
      ->check(CLI::Range(1, 1024));
  app.add_option("-N,--run_cycles", options.cycles, "sweeps; 0 for ever")->check(natural);
  app.add_option("-c,--check", options.checks, "checked operations per row; 0 off")->check(natural);
  app.add_option("-T,--timeout", options.timeout_seconds,
                 "seconds without any progress before giving up; 0 never")
      ->check(natural);
  app.add_option("-u,--misalign", options.misalign, "bytes buffers are off alignment")
      ->check(CLI::Range(0, 4095));
  app.add_option("-I,--per_iter", typed.per_iteration, "1: time every operation; p50, p99")
      ->check(CLI::Range(0, 1));
  app.add_option("-K,--per_iter_skip", options.skipped, "first operations left out of -I figures")
      ->check(natural);
}

void add_what(CLI::App& app, Typed& typed, Options& options) {
  app.add_option("-o,--op", typed.op, "sum prod min max avg mulsum band bor bxor all");
  app.add_option("-d,--datatype", typed.type,
                 "int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2 "
                 "bool all");
  app.add_option("-r,--root", typed.root, "root rank, or all");
  app.add_option("-z,--blocking", options.blocking,
                 "1: synchronise after every operation; 2, 3: and meet in a barrier")
      ->check(CLI::Range(0, 3));
  app.add_option("-y,--stream_null", typed.null_stream,
                 "1: in the calling thread (default); 0: on a host stream")
      ->check(CLI::Range(0, 1));
  app.add_option("-a,--average", typed.reduce, "time over ranks: 0 rank 0, 1 avg, 2 min, 3 max")
      ->check(CLI::Range(0, 3));
  app.add_option("-R,--local_register", typed.memory,
                 "buffers: 0 plain memory, 1 gyreMemAlloc and registered, 2 symmetric windows")
      ->check(CLI::Range(0, 2));
  app.add_option("-C,--report_cputime", typed.cpu_time, "1: CPU time of the calling thread instead")
      ->check(CLI::Range(0, 1));
  app.add_option("-S,--report_timestamps", typed.timestamps, "1: a time of day on each row")
      ->check(CLI::Range(0, 1));
  app.add_option("-M,--memory_report", typed.memory_report, "1: memory of each rank at the end")
      ->check(CLI::Range(0, 1));
}

void add_ours(CLI::App& app, Typed& typed, Options& options) {
  app.add_option("-J,--output_file,--json", options.json, "results as JSON");
  app.add_option("--csv", options.csv, "results as CSV");
  app.add_option("--plot", options.plot, "bus bandwidth and latency curves as SVG");
  app.add_option("--touch", typed.touch,
                 "hot: same buffers again and again; produced: each rank rewrites its input, "
                 "untimed, before every operation")
      ->check(CLI::IsMember({"hot", "produced"}));
  app.add_flag("--check-identical", options.check_identical,
               "results must also be bit-identical on all ranks");
  app.add_option("--transport", options.transport, "GYRE_TRANSPORT for the ranks");
  app.add_option("--algo", options.algorithm, "GYRE_ALGO for the ranks");
  app.add_option("--ranks-as", typed.ranks_as, "local ranks are: process (default), thread")
      ->check(CLI::IsMember({"process", "thread"}));
  app.add_option("--device", typed.device, "auto, host, cuda")
      ->check(CLI::IsMember({"auto", "host", "cuda"}));
  app.add_flag("--pin", options.pin, "bind local rank r to processor r");
}

// nccl-tests' flags that have no meaning on host memory: scripts that carry them must run.
void add_without_effect(CLI::App& app, Typed& typed) {
  app.add_option("-p,--parallel_init", typed.parallel_init, "no effect: init is always parallel");
  app.add_option("-G,--cudagraph", typed.graph, "no effect on host memory");
  app.add_option("-x,--cta_policy", typed.policy, "no effect on host memory");
  app.add_option("-D,--device_implementation", typed.implementation, "no effect on host memory");
  app.add_option("-V,--device_cta_count", typed.device_blocks, "no effect on host memory");
}

void note_without_effect(const CLI::App& app, Options& options) {
  for (const char* flag : {"-p", "-G", "-x", "-D", "-V"})
    if (app.count(flag) > 0)
      options.notes.push_back(fmt::format("{} has no effect on host memory", flag));
}

std::string take_sizes(const Typed& typed, Options& options) {
  const auto first = parse_size(typed.first);
  const auto last = parse_size(typed.last);
  const auto step = parse_size(typed.step);
  if (!first) return fmt::format("-b '{}' is not a size", typed.first);
  if (!last) return fmt::format("-e '{}' is not a size", typed.last);
  if (!step) return fmt::format("-i '{}' is not a size", typed.step);
  if (*first > *last) return fmt::format("-b {} is above -e {}", typed.first, typed.last);
  if (typed.factor < 2 && *step == 0 && *first < *last) return "-i 0 never reaches -e";
  options.sweep = {*first, *last, *step, typed.factor};
  return {};
}

std::string take_kinds(const Typed& typed, Options& options) {
  if (typed.type == "all") {
    options.types = all_types();
  } else if (const auto type = find_type(typed.type)) {
    options.types = {*type};
  } else {
    return fmt::format("-d '{}' is not a type", typed.type);
  }
  if (typed.op == "all") {
    options.ops = all_ops();
  } else if (const auto op = find_op(typed.op)) {
    options.ops = {*op};
  } else {
    return fmt::format("-o '{}' is not a reduction", typed.op);
  }
  if (typed.root == "all") {
    options.root = -1;
  } else if (const auto root = parse_size(typed.root); root && *root < 1'000'000) {
    options.root = static_cast<int>(*root);
  } else {
    return fmt::format("-r '{}' is not a rank", typed.root);
  }
  return {};
}

std::string take(const Typed& typed, Options& options) {
  if (std::string mistake = take_sizes(typed, options); !mistake.empty()) return mistake;
  if (std::string mistake = take_kinds(typed, options); !mistake.empty()) return mistake;
  if (typed.device == "cuda") return "--device cuda: this build measures host memory alone";
  if (options.local_ranks() > 1024) return "-t times -g is above 1024 ranks";
  options.null_stream = typed.null_stream != 0;
  options.cpu_time = typed.cpu_time != 0;
  options.timestamps = typed.timestamps != 0;
  options.memory_report = typed.memory_report != 0;
  options.per_iteration = typed.per_iteration != 0;
  options.reduce = static_cast<Reduce>(typed.reduce);
  options.memory = static_cast<Memory>(typed.memory);
  options.touch = typed.touch == "hot" ? Touch::hot : Touch::produced;
  options.ranks_as = typed.ranks_as == "process" ? RanksAs::process : RanksAs::thread;
  if (options.skipped >= options.iterations) return "-K leaves no iteration";
  return {};
}

}  // namespace

std::optional<int> parse_options(int argc, const char* const* argv, Options& options) {
  options.program = std::filesystem::path(argv[0]).filename().string();
  options.arguments.assign(argv + 1, argv + argc);
  CLI::App app("Measures one collective of gyre; flags and columns follow nccl-tests.",
               options.program);
  Typed typed;
  add_sizes_and_counts(app, typed, options);
  add_what(app, typed, options);
  add_ours(app, typed, options);
  add_without_effect(app, typed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    return app.exit(stop) == 0 ? 0 : 2;
  }
  note_without_effect(app, options);
  const std::string mistake = take(typed, options);
  if (mistake.empty()) return std::nullopt;
  fmt::print(stderr, "{}: {}\n", options.program, mistake);
  return 2;
}

}  // namespace perf
