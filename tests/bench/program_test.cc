// The programs as users run them, with ranks that die, stop and disagree.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/spawn.h"

namespace perf {
namespace {

constexpr const char* kPrograms[] = {"all_reduce", "all_gather", "broadcast", "reduce_scatter",
                                     "reduce",     "alltoall",   "alltoallv", "scatter",
                                     "gather",     "sendrecv",   "hypercube"};

// A folder of this test alone.
class Folder {
 public:
  Folder() {
    char path[] = "/tmp/gyre_bench_XXXXXX";
    path_ = mkdtemp(path);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool is_row(const std::string& line) {
  return line.starts_with(' ') && line.find_first_of("0123456789") != std::string::npos;
}

// Waits for a row, so that there are results, and gives rank's process as the header told it.
pid_t process_of(Spawned& program, int rank) {
  const std::string title = "Rank   " + std::to_string(rank);
  if (!program.wait_for(title)) return -1;
  const std::string& line = program.lines().back();
  const pid_t pid = std::stoi(line.substr(line.find("Pid") + 3));
  return program.wait_for("float") ? pid : -1;
}

TEST(BenchPrograms, all_give_right_results) {
  for (const char* name : kPrograms) {
    Spawned program(std::string(name) + "_perf",
                    {"-b", "8", "-e", "64K", "-f", "32", "-g", "4", "-n", "2"});
    EXPECT_EQ(program.finish(), 0) << name << program.errors();
    const std::vector<std::string>& lines = program.lines();
    EXPECT_GE(std::count_if(lines.begin(), lines.end(), is_row), 3) << name;
    EXPECT_EQ(std::count(lines.begin(), lines.end(), "# Out of bounds values : 0 OK"), 1) << name;
  }
}

TEST(BenchPrograms, every_type_and_reduction_is_right_on_three_ranks) {
  for (const char* name : {"all_reduce_perf", "reduce_scatter_perf"}) {
    Spawned program(name, {"-b", "1000", "-e", "1000", "-g", "3", "-n", "1", "-d", "all", "-o",
                           "all", "--check-identical"});
    EXPECT_EQ(program.finish(), 0) << program.errors();
    const std::vector<std::string>& lines = program.lines();
    EXPECT_GT(std::count_if(lines.begin(), lines.end(), is_row), 90);
  }
}

TEST(BenchPrograms, odd_ways_of_running_are_right_too) {
  const std::vector<std::vector<std::string>> kWays = {{"--ranks-as", "thread"},
                                                       {"-R", "1"},
                                                       {"-R", "2"},
                                                       {"-y", "0"},
                                                       {"-m", "3"},
                                                       {"-u", "3"},
                                                       {"--touch", "produced"},
                                                       {"-I", "1", "-K", "1"},
                                                       {"-z", "2"},
                                                       {"--pin"},
                                                       {"-S", "1", "-M", "1"},
                                                       {"-C", "1", "-a", "3"}};
  for (std::vector<std::string> way : kWays) {
    way.insert(way.end(), {"-b", "64", "-e", "100K", "-f", "40", "-g", "2", "-n", "3"});
    Spawned program("all_reduce_perf", way);
    EXPECT_EQ(program.finish(), 0) << way[0] << " " << way[1] << program.errors();
  }
}

TEST(BenchPrograms, one_rank_alone_has_no_bus) {
  Spawned program("all_reduce_perf", {"-b", "1M", "-e", "1M"});
  EXPECT_EQ(program.finish(), 0) << program.errors();
  EXPECT_EQ(
      std::count(program.lines().begin(), program.lines().end(), "# Avg bus bandwidth    : 0"), 1);
}

TEST(BenchPrograms, files_are_valid_with_full_debug_on) {
  const Folder folder;
  Spawned program(
      "all_reduce_perf",
      {"-b", "8", "-e", "1K", "-f", "2", "-g", "2", "-n", "2", "--json", folder.file("a.json"),
       "--csv", folder.file("a.csv"), "--plot", folder.file("a.svg")},
      {"GYRE_DEBUG=trace"});
  EXPECT_EQ(program.finish(), 0) << program.errors();
  EXPECT_FALSE(program.errors().empty()) << "the log should have gone there";
  for (const std::string& line : program.lines())
    EXPECT_TRUE(line.empty() || line[0] == '#' || is_row(line)) << line;
  const auto json = nlohmann::json::parse(text_of(folder.file("a.json")));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["program"], "all_reduce_perf");
  EXPECT_EQ(json["results"].size(), 8u);
  EXPECT_TRUE(json["errors"].empty());
  EXPECT_EQ(json["env"]["GYRE_DEBUG"], "trace");
  std::istringstream csv(text_of(folder.file("a.csv")));
  int rows = 0;
  for (std::string line; std::getline(csv, line); ++rows)
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 20) << line;
  EXPECT_EQ(rows, 1 + 2 * 8);
  EXPECT_NE(text_of(folder.file("a.svg")).find("</svg>"), std::string::npos);
}

TEST(BenchPrograms, killed_rank_is_named_and_results_so_far_are_kept) {
  const Folder folder;
  Spawned program("all_reduce_perf", {"-b", "8", "-e", "8", "-g", "3", "-N", "0", "--json",
                                      folder.file("k.json"), "--csv", folder.file("k.csv")});
  const pid_t victim = process_of(program, 2);
  ASSERT_GT(victim, 0);
  kill(victim, SIGKILL);
  EXPECT_EQ(program.finish(), 1);
  EXPECT_NE(program.errors().find("rank 2: process " + std::to_string(victim) +
                                  " was killed by signal 9"),
            std::string::npos)
      << program.errors();
  const auto json = nlohmann::json::parse(text_of(folder.file("k.json")));
  EXPECT_GE(json["results"].size(), 1u);
  EXPECT_GE(json["errors"].size(), 1u);
  EXPECT_NE(text_of(folder.file("k.csv")).find("\"rank 2: process"), std::string::npos);
}

TEST(BenchPrograms, stopped_rank_ends_the_run) {
  Spawned program("all_reduce_perf", {"-b", "8", "-e", "8", "-g", "2", "-N", "0", "-T", "2"});
  const pid_t victim = process_of(program, 1);
  ASSERT_GT(victim, 0);
  kill(victim, SIGSTOP);
  EXPECT_EQ(program.finish(), 1);
  EXPECT_NE(program.errors().find("no rank finished an operation for 2 s"), std::string::npos)
      << program.errors();
}

TEST(BenchPrograms, interrupt_closes_the_table_and_the_files) {
  const Folder folder;
  Spawned program("all_reduce_perf",
                  {"-b", "8", "-e", "8", "-g", "2", "-N", "0", "--json", folder.file("i.json")});
  ASSERT_TRUE(program.wait_for("float"));
  kill(program.pid(), SIGTERM);
  EXPECT_EQ(program.finish(), 1);
  EXPECT_EQ(program.lines().back(), "# Collective test concluded: all_reduce_perf");
  const auto json = nlohmann::json::parse(text_of(folder.file("i.json")));
  EXPECT_NE(json["errors"][0].get<std::string>().find("interrupted"), std::string::npos);
}

TEST(BenchPrograms, missed_bar_fails) {
  Spawned program("all_reduce_perf", {"-b", "8", "-e", "8", "-g", "2"},
                  {"GYRE_TESTS_MIN_BW=100000"});
  EXPECT_EQ(program.finish(), 1);
  EXPECT_EQ(program.errors(), "");
}

TEST(BenchPrograms, what_cannot_be_run_is_refused_with_its_reason) {
  const struct {
    const char* program;
    std::vector<std::string> arguments;
    const char* reason;
    int status;
  } kCases[] = {
      {"hypercube_perf", {"-g", "3", "-b", "8", "-e", "8"}, "power of two", 1},
      {"reduce_perf", {"-g", "2", "-r", "5", "-b", "8", "-e", "8"}, "-r 5 with 2 ranks", 1},
      {"all_reduce_perf", {"-o", "band", "-b", "8", "-e", "8"}, "band is not defined for float", 1},
      {"all_reduce_perf", {"--algo", "nonsense", "-g", "2", "-b", "8", "-e", "8"}, "nonsense", 1},
      {"all_reduce_perf", {"--json", "/nowhere/a.json"}, "cannot write /nowhere/a.json", 2},
  };
  for (const auto& one : kCases) {
    Spawned program(one.program, one.arguments);
    EXPECT_EQ(program.finish(), one.status) << one.reason;
    EXPECT_NE(program.errors().find(one.reason), std::string::npos) << program.errors();
  }
}

// A port that is free now; nobody else here asks for one in the meantime, most likely.
int free_port() {
  const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound =
      bind(socket_fd, generic, size) == 0 && getsockname(socket_fd, generic, &size) == 0;
  close(socket_fd);
  return bound ? ntohs(address.sin_port) : 0;
}

TEST(BenchPrograms, under_a_launcher_each_process_is_a_rank_and_one_speaks) {
  const std::string root = "GYRE_ROOT=127.0.0.1:" + std::to_string(free_port());
  std::vector<std::unique_ptr<Spawned>> ranks;
  for (const char* rank : {"0", "1", "2"})
    ranks.push_back(std::make_unique<Spawned>(
        "all_gather_perf", std::vector<std::string>{"-b", "8", "-e", "8K", "-f", "4", "-n", "3"},
        std::vector<std::string>{std::string("GYRE_RANK=") + rank, "GYRE_SIZE=3", root}));
  for (const auto& rank : ranks) EXPECT_EQ(rank->finish(), 0) << rank->errors();
  EXPECT_EQ(std::count(ranks[0]->lines().begin(), ranks[0]->lines().end(),
                       "# Out of bounds values : 0 OK"),
            1);
  EXPECT_TRUE(ranks[1]->lines().empty());
  EXPECT_TRUE(ranks[2]->lines().empty());
}

}  // namespace
}  // namespace perf
