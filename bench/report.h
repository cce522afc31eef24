// Where results go: table and progress on the terminal, JSON, CSV and SVG in files. Knows formats
// and the verdict. Files are valid whatever happened: they hold the rows so far and what went
// wrong.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "bench/collective.h"
#include "bench/options.h"
#include "bench/record.h"
#include "bench/table.h"

namespace perf {

inline constexpr int kSchemaVersion = 1;

// All that is known of one run.
struct Results {
  std::int64_t started = 0;
  std::int64_t ended = 0;
  std::vector<RankCard> ranks;
  std::vector<Row> rows;
  std::vector<std::string> errors;
};

std::string json_text(const Options& options, const Results& results, double floor_gbps);
// First line, then one line per placement; errors are lines of their own in the last column.
std::string csv_head();
std::string csv_lines(const Options& options, int ranks, const Row& row);
std::string csv_error(const Options& options, int ranks, const std::string& error);

class Report {
 public:
  Report(const Options& options, const Collective& collective);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  // False, told on stderr, when a file cannot be written: better now than after an hour.
  bool open();
  void take(const Event& event);
  // Footer and files. Gives the exit status. `mute`: another process prints for this job.
  int finish(const std::vector<std::string>& errors, bool mute);

 private:
  void take_card(const RankCard& card);
  void take_row(const Row& row);
  void show_progress();
  void clear_progress();
  void write_files();
  bool put(const std::string& path, const std::string& text);

  const Options& options_;
  Results results_;
  std::string memory_;
  double floor_gbps_;
  std::FILE* csv_ = nullptr;
  std::size_t rows_expected_;
  bool terminal_;
  bool files_written_ = true;
};

}  // namespace perf
