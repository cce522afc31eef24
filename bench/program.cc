#include "bench/program.h"

#include "bench/options.h"
#include "bench/ranks.h"
#include "bench/report.h"

namespace perf {

int run_program(int argc, char** argv, const Collective& collective) {
  Options options;
  if (const std::optional<int> status = parse_options(argc, argv, options)) return *status;
  Report report(options, collective);
  if (is_reporter() && !report.open()) return 2;
  return run_ranks(options, collective, report);
}

}  // namespace perf
