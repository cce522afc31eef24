#include "bench/options.h"

#include <gtest/gtest.h>

namespace perf {
namespace {

std::optional<int> parse(std::vector<const char*> arguments, Options& options) {
  arguments.insert(arguments.begin(), "/somewhere/all_reduce_perf");
  return parse_options(static_cast<int>(arguments.size()), arguments.data(), options);
}

TEST(BenchOptions, defaults_are_those_of_nccl_tests) {
  Options options;
  ASSERT_FALSE(parse({}, options));
  EXPECT_EQ(options.program, "all_reduce_perf");
  EXPECT_EQ(options.sweep.first, std::size_t{32} << 20);
  EXPECT_EQ(options.sweep.last, std::size_t{32} << 20);
  EXPECT_EQ(options.iterations, 20);
  EXPECT_EQ(options.warmups, 1);
  EXPECT_EQ(options.checks, 1);
  EXPECT_EQ(options.local_ranks(), 1);
  ASSERT_EQ(options.types.size(), 1u);
  EXPECT_EQ(options.types[0].id, gyreFloat32);
}

TEST(BenchOptions, the_usual_command_line_is_understood) {
  Options options;
  ASSERT_FALSE(
      parse({"-b", "8",  "-e",  "256M", "-f",       "2",  "-g", "4",       "-t",       "2",  "-n",
             "5",  "-o", "max", "-d",   "bfloat16", "-c", "0",  "--touch", "produced", "-R", "2"},
            options));
  EXPECT_EQ(options.sweep.last, std::size_t{256} << 20);
  EXPECT_EQ(options.sweep.factor, 2u);
  EXPECT_EQ(options.local_ranks(), 8);
  EXPECT_EQ(options.ops, std::vector<Op>{Op::max});
  EXPECT_EQ(options.types[0].id, gyreBfloat16);
  EXPECT_EQ(options.touch, Touch::produced);
  EXPECT_EQ(options.memory, Memory::window);
}

TEST(BenchOptions, long_names_mean_the_same) {
  Options options;
  ASSERT_FALSE(parse({"--minbytes", "1K", "--maxbytes", "2K", "--ngpus", "3", "--iters", "7",
                      "--datatype", "all", "--root", "all"},
                     options));
  EXPECT_EQ(options.sweep.first, 1024u);
  EXPECT_EQ(options.local_ranks(), 3);
  EXPECT_EQ(options.iterations, 7);
  EXPECT_EQ(options.types.size(), all_types().size());
  EXPECT_EQ(options.root, -1);
}

TEST(BenchOptions, flags_without_meaning_here_are_taken_and_told) {
  Options options;
  ASSERT_FALSE(parse({"-G", "10", "-x", "1", "-D", "2", "-V", "16", "-p", "1"}, options));
  EXPECT_EQ(options.notes.size(), 5u);
}

TEST(BenchOptions, mistakes_are_refused) {
  const std::vector<std::vector<const char*>> kBad = {{"-b", "8X"},
                                                      {"-b", "2M", "-e", "1M"},
                                                      {"-d", "float12"},
                                                      {"-o", "xor"},
                                                      {"-r", "minus"},
                                                      {"--touch", "cold"},
                                                      {"-g", "0"},
                                                      {"--nonsense"},
                                                      {"--device", "cuda"},
                                                      {"-i", "0", "-b", "8"},
                                                      {"-n", "0"},
                                                      {"-K", "20"},
                                                      {"-t", "64", "-g", "64"}};
  for (const auto& arguments : kBad) {
    Options options;
    const std::optional<int> status = parse(arguments, options);
    ASSERT_TRUE(status) << arguments[0];
    EXPECT_EQ(*status, 2) << arguments[0];
  }
}

}  // namespace
}  // namespace perf
