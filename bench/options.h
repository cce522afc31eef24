// What the user asked for. Knows nccl-tests' flags and ours. Does not know how any is done.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/sizes.h"
#include "bench/types.h"

namespace perf {

enum class Touch { hot, produced };
enum class RanksAs { process, thread };
enum class Memory { plain = 0, registered = 1, window = 2 };
enum class Reduce { rank0 = 0, average = 1, minimum = 2, maximum = 3 };

struct Options {
  std::string program;
  std::vector<std::string> arguments;
  int threads = 1;
  int per_thread = 1;
  Sweep sweep{std::size_t{32} << 20, std::size_t{32} << 20, std::size_t{1} << 20, 1};
  int iterations = 20;
  int warmups = 1;
  int aggregate = 1;
  int cycles = 1;  // 0: for ever
  int checks = 1;  // 0: off
  std::vector<Op> ops;
  std::vector<TypeInfo> types;
  int root = 0;  // -1: all
  int blocking = 0;
  bool null_stream = true;
  int timeout_seconds = 300;  // without any progress; 0: never
  bool cpu_time = false;
  bool timestamps = false;
  Reduce reduce = Reduce::average;
  Memory memory = Memory::plain;
  bool memory_report = false;
  std::size_t misalign = 0;
  bool per_iteration = false;
  int skipped = 0;  // first iterations left out of per-iteration figures
  std::string csv, json, plot;
  Touch touch = Touch::hot;
  bool check_identical = false;
  std::string transport, algorithm;
  RanksAs ranks_as = RanksAs::process;
  bool pin = false;
  std::vector<std::string> notes;  // flags that were accepted and do nothing here

  int local_ranks() const { return threads * per_thread; }
};

// Fills `options`. An exit status when the program shall end now: help, or a mistake (told on
// stderr).
std::optional<int> parse_options(int argc, const char* const* argv, Options& options);

}  // namespace perf
