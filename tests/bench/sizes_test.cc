#include "bench/sizes.h"

#include <gtest/gtest.h>

#include "bench/bandwidth.h"
#include "bench/samples.h"

namespace perf {
namespace {

TEST(BenchSizes, suffixes_are_binary_and_nothing_else_is_taken) {
  EXPECT_EQ(parse_size("8"), 8u);
  EXPECT_EQ(parse_size("512K"), 512u << 10);
  EXPECT_EQ(parse_size("4m"), 4u << 20);
  EXPECT_EQ(parse_size("1.5G"), std::size_t{3} << 29);
  for (const char* bad : {"", "K", "-1", "8Q", "8KB", "1e3", "0.3", "1.2.3", "99999T", " 8"})
    EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(BenchSizes, text_is_read_back_as_the_same_size) {
  for (std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{1000}, std::size_t{1} << 20,
                            std::size_t{5} << 30})
    EXPECT_EQ(parse_size(size_text(bytes)), bytes);
}

TEST(BenchSizes, sweep_grows_by_factor_or_step_and_includes_the_end) {
  EXPECT_EQ(sizes_of({8, 64, 0, 2}), (std::vector<std::size_t>{8, 16, 32, 64}));
  EXPECT_EQ(sizes_of({8, 20, 6, 1}), (std::vector<std::size_t>{8, 14, 20}));
  EXPECT_EQ(sizes_of({5, 5, 0, 1}), (std::vector<std::size_t>{5}));
  EXPECT_EQ(sizes_of({0, 4, 2, 2}), (std::vector<std::size_t>{0, 2, 4}));
}

TEST(BenchBandwidth, follows_the_published_factors) {
  const double second = 1;
  const std::size_t gigabyte = 1'000'000'000;
  const struct {
    BusRule rule;
    double two, three, eight;
  } kRules[] = {{BusRule::all_reduce, 1, 4.0 / 3, 1.75},
                {BusRule::shared, 0.5, 2.0 / 3, 0.875},
                {BusRule::whole, 1, 1, 1}};
  for (const auto& rule : kRules) {
    EXPECT_DOUBLE_EQ(bandwidth_of(rule.rule, 2, gigabyte, second).bus, rule.two);
    EXPECT_DOUBLE_EQ(bandwidth_of(rule.rule, 3, gigabyte, second).bus, rule.three);
    EXPECT_DOUBLE_EQ(bandwidth_of(rule.rule, 8, gigabyte, second).bus, rule.eight);
    EXPECT_DOUBLE_EQ(bandwidth_of(rule.rule, 8, gigabyte, second).algorithm, 1);
    EXPECT_EQ(bandwidth_of(rule.rule, 1, gigabyte, second).bus, 0);
  }
}

TEST(BenchBandwidth, no_time_is_no_bandwidth) {
  EXPECT_EQ(bandwidth_of(BusRule::whole, 2, 8, 0).algorithm, 0);
}

TEST(BenchSamples, time_over_ranks_is_what_was_asked) {
  const std::vector<double> ranks = {2, 1, 6};
  EXPECT_EQ(reduced(Reduce::rank0, ranks), 2);
  EXPECT_EQ(reduced(Reduce::average, ranks), 3);
  EXPECT_EQ(reduced(Reduce::minimum, ranks), 1);
  EXPECT_EQ(reduced(Reduce::maximum, ranks), 6);
}

TEST(BenchSamples, percentiles_are_values_that_occurred) {
  std::vector<double> samples;
  for (int i = 100; i >= 1; --i) samples.push_back(i);
  EXPECT_EQ(percentile(samples, 0.50), 50);
  EXPECT_EQ(percentile(samples, 0.99), 99);
  EXPECT_EQ(percentile({7}, 0.99), 7);
}

TEST(BenchSamples, skipped_operations_leave_no_trace) {
  Timing timing;
  fill_figures({100, 1, 3}, 1, timing);
  EXPECT_EQ(timing.samples, 2);
  EXPECT_EQ(timing.max, 3);
  EXPECT_EQ(timing.average, 2);
  EXPECT_EQ(timing.deviation, 1);
}

}  // namespace
}  // namespace perf
