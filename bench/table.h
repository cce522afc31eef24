// The table on stdout: header, rows, footer, in nccl-tests' columns. Knows widths and legends.
// Does not know files (report.h) or ranks.
#pragma once

#include <string>
#include <vector>

#include "bench/options.h"
#include "bench/record.h"

namespace perf {

// Two decimals where they fit in `width`, else one, else none, else an exponent.
std::string number_text(double value, int width);

std::string header_text(const Options& options, const std::vector<RankCard>& ranks);
std::string columns_text(const Options& options);
std::string row_text(const Options& options, const Row& row);

// The closing figures over all rows.
struct Summary {
  std::int64_t wrong = 0;
  bool checked = false;
  double average_gbps = 0;  // mean over rows and placements
  double peak_gbps = 0;
  std::uint64_t peak_bytes = 0;
  double largest_gbps = 0;  // best placement at the largest size
  std::uint64_t largest_bytes = 0;
};
Summary summary_of(const std::vector<Row>& rows);

// `floor_gbps`: the bar of GYRE_TESTS_MIN_BW, negative when none.
bool is_fast_enough(const Summary& summary, double floor_gbps);
std::string footer_text(const Options& options, const Summary& summary, double floor_gbps,
                        const std::vector<std::string>& errors);

}  // namespace perf
