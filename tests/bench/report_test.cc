#include "bench/report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/plot.h"

namespace perf {
namespace {

Options plain_options() {
  Options options;
  const char* arguments[] = {"all_reduce_perf"};
  parse_options(1, arguments, options);
  return options;
}

Row row_of(std::uint64_t bytes, double bus, std::int64_t wrong) {
  Row row;
  row.bytes = bytes;
  row.count = bytes / 4;
  std::snprintf(row.type, sizeof(row.type), "float");
  std::snprintf(row.op, sizeof(row.op), "sum");
  row.out = {
      .present = true, .seconds = 1e-5, .algorithm_gbps = bus, .bus_gbps = bus, .wrong = wrong};
  return row;
}

std::vector<std::string> split(const std::string& line, char mark) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == mark && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

TEST(BenchTable, numbers_keep_as_many_decimals_as_fit) {
  EXPECT_EQ(number_text(1.234, 6), "1.23");
  EXPECT_EQ(number_text(12345.67, 7), "12345.7");
  EXPECT_EQ(number_text(123456.7, 7), "123457");
  EXPECT_EQ(number_text(123456.7, 6), "123457");
  EXPECT_EQ(number_text(1234567.0, 6), "1e+06");
  EXPECT_EQ(number_text(999.996, 6), "1000.0");
}

TEST(BenchTable, rows_have_the_columns_of_nccl_tests) {
  const Options options = plain_options();
  Row row = row_of(1024, 1.5, 0);
  row.in = row.out;
  EXPECT_EQ(row_text(options, row),
            "        1024           256     float     sum      -1    10.00    1.50    1.50       0"
            "    10.00    1.50    1.50       0\n");
  row.in.present = false;
  row.out.wrong = -1;
  EXPECT_EQ(row_text(options, row),
            "        1024           256     float     sum      -1    10.00    1.50    1.50     N/A"
            "      N/A     N/A     N/A     N/A\n");
}

TEST(BenchTable, titles_stand_above_their_columns) {
  for (bool per_iteration : {false, true}) {
    Options options = plain_options();
    options.per_iteration = per_iteration;
    Row row = row_of(8, 1, 0);
    row.in = row.out;
    const std::vector<std::string> lines = split(columns_text(options), '\n');
    EXPECT_EQ(lines[1].size() + 1, row_text(options, row).size());
    EXPECT_EQ(lines[1].size(), lines[2].size());
    row.in.present = false;
    EXPECT_EQ(lines[1].size() + 1, row_text(options, row).size());
  }
}

TEST(BenchTable, summary_gives_average_peak_and_largest) {
  const Summary summary = summary_of({row_of(8, 1, 0), row_of(1024, 9, 3), row_of(4096, 5, 0)});
  EXPECT_EQ(summary.wrong, 3);
  EXPECT_DOUBLE_EQ(summary.average_gbps, 5);
  EXPECT_EQ(summary.peak_gbps, 9);
  EXPECT_EQ(summary.peak_bytes, 1024u);
  EXPECT_EQ(summary.largest_gbps, 5);
  EXPECT_EQ(summary.largest_bytes, 4096u);
}

TEST(BenchTable, bar_leaves_a_tenth_of_slack) {
  const Summary summary = summary_of({row_of(8, 9.1, 0)});
  EXPECT_TRUE(is_fast_enough(summary, 10));
  EXPECT_FALSE(is_fast_enough(summary, 10.2));
  EXPECT_TRUE(is_fast_enough(summary, -1));
}

TEST(BenchTable, footer_tells_failure_and_unchecked_apart) {
  const Options options = plain_options();
  EXPECT_NE(footer_text(options, summary_of({row_of(8, 1, 2)}), -1, {}).find("2 FAILED"),
            std::string::npos);
  EXPECT_NE(footer_text(options, summary_of({row_of(8, 1, 0)}), -1, {}).find("0 OK"),
            std::string::npos);
  EXPECT_NE(
      footer_text(options, summary_of({row_of(8, 1, -1)}), -1, {}).find("nothing was checked"),
      std::string::npos);
  EXPECT_NE(
      footer_text(options, summary_of({row_of(8, 1, 0)}), -1, {"rank 1: gone"}).find("FAILED"),
      std::string::npos);
}

TEST(BenchFiles, json_is_valid_with_partial_results_and_an_error) {
  Results results;
  results.ranks.push_back({.rank = 0, .ranks = 2, .pid = 7, .host = "here"});
  results.rows.push_back(row_of(8, 1, 0));
  results.errors.push_back("rank 1: \"gone\"\xff\n");
  const auto json = nlohmann::json::parse(json_text(plain_options(), results, -1));
  EXPECT_EQ(json["version"], kSchemaVersion);
  EXPECT_EQ(json["program"], "all_reduce_perf");
  ASSERT_EQ(json["results"].size(), 1u);
  EXPECT_EQ(json["results"][0]["out_of_place"]["nwrong"], 0);
  EXPECT_FALSE(json["results"][0].contains("in_place"));
  EXPECT_EQ(json["errors"].size(), 1u);
  EXPECT_EQ(json["out_of_bounds"]["okay"], "true");
}

TEST(BenchFiles, csv_lines_all_have_the_fields_of_the_first) {
  const Options options = plain_options();
  const std::size_t fields = split(csv_head(), ',').size();
  Row row = row_of(8, 1, 0);
  row.in = row.out;
  row.in.samples = 3;
  std::string text = csv_lines(options, 2, row) + csv_error(options, 2, "a, \"b\"");
  std::vector<std::string> lines = split(text, '\n');
  ASSERT_EQ(lines.size(), 4u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(split(lines[static_cast<std::size_t>(i)], ',').size(), fields) << lines[0];
}

TEST(BenchPlot, curves_leave_out_what_a_logarithm_cannot_show) {
  const std::string svg =
      svg_text("a < b", {{"bus bandwidth", "GB/s", {{"x & y", {{8, 0}, {16, 1}, {32, 2}}}}}});
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_NE(svg.find("x &amp; y"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  std::size_t dots = 0;
  for (std::size_t at = 0; (at = svg.find("<circle", at)) != std::string::npos; ++at) ++dots;
  EXPECT_EQ(dots, 2u);
}

TEST(BenchPlot, nothing_measured_is_said) {
  EXPECT_NE(svg_text("t", {{"time", "us", {}}}).find("nothing was measured"), std::string::npos);
}

}  // namespace
}  // namespace perf
