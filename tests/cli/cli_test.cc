// The `gyre` tool as users run it.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace gyre {
namespace {

struct Outcome {
  int status;
  std::string out;  // both streams
};

Outcome run(const std::string& arguments) {
  std::FILE* pipe = popen((GYRE_TOOL " " + arguments + " 2>&1").c_str(), "r");
  Outcome outcome{-1, {}};
  std::array<char, 4096> buffer;
  while (const std::size_t got = fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.out.append(buffer.data(), got);
  outcome.status = WEXITSTATUS(pclose(pipe));
  return outcome;
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Env, the_manual_lists_every_variable_as_the_tool_does) {
  const Outcome printed = run("env --markdown");
  ASSERT_EQ(printed.status, 0);
  EXPECT_TRUE(contains(file_text(GYRE_SOURCE_ROOT "/docs/tuning.md"), printed.out))
      << "put the output of `gyre env --markdown` into docs/tuning.md:\n"
      << printed.out;
}

TEST(Env, a_slip_gets_the_nearest_name_and_a_malformed_value_is_refused) {
  setenv("GYRE_TIMEOTU", "5", 1);
  EXPECT_TRUE(
      contains(run("env").out, "unknown variable GYRE_TIMEOTU, did you mean GYRE_TIMEOUT?"));
  unsetenv("GYRE_TIMEOTU");
  setenv("GYRE_SLOTS", "many", 1);
  const Outcome refused = run("env");
  unsetenv("GYRE_SLOTS");
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(contains(refused.out, "GYRE_SLOTS='many' is not valid")) << refused.out;
}

TEST(Env, secrets_stay_hidden) {
  setenv("GYRE_SECRET", "tell-nobody", 1);
  const Outcome printed = run("env");
  unsetenv("GYRE_SECRET");
  EXPECT_TRUE(contains(printed.out, "(set)"));
  EXPECT_FALSE(contains(printed.out, "tell-nobody"));
}

TEST(Plan, shows_proves_and_draws) {
  EXPECT_TRUE(contains(run("plan list").out, "reduce_scatter     circulant"));
  const Outcome proved = run("plan prove all_reduce ring -n 5");
  EXPECT_EQ(proved.status, 0) << proved.out;
  EXPECT_TRUE(contains(proved.out, "proved")) << proved.out;
  EXPECT_EQ(run("plan prove all_reduce ring -n 5 --slots 1").status, 1);  // a fused ring needs two
  const std::string path = testing::TempDir() + "gyre_plan_test.svg";
  EXPECT_EQ(run("plan show all_reduce tree -n 6 --svg " + path).status, 0);
  EXPECT_TRUE(contains(file_text(path), "<svg"));
  unlink(path.c_str());
}

TEST(Plan, unknown_names_are_told) {
  const Outcome refused = run("plan show all_reduce rnig");
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(contains(refused.out, "'rnig' is not known")) << refused.out;
}

TEST(Topo, shows_dumps_checks_and_explains_a_line_and_its_file) {
  const std::string line = "'2x(8gpu@nvs450 8nic@50) fat2:1'";
  const Outcome shown = run("topo show " + line);
  EXPECT_EQ(shown.status, 0);
  EXPECT_TRUE(contains(shown.out, "2 hosts, 16 gpus\nfabric: fat tree 2:1\n")) << shown.out;
  EXPECT_TRUE(contains(shown.out, "\ngpu7 -> nic7 (PIX 48 GB/s)\n")) << shown.out;
  const std::string path = testing::TempDir() + "gyre_topo_test.xml";
  EXPECT_EQ(run("topo dump " + line + " >" + path).status, 0);
  EXPECT_EQ(run("topo check " + path).out, "sound: hosts 2, kinds of host 1, gpus 16\n");
  EXPECT_EQ(run("topo dump " + path).out, file_text(path));
  unlink(path.c_str());
  const Outcome why = run("topo why " + line + " gpu0 host1/gpu3");
  EXPECT_EQ(why.out, "host0/gpu0 to host1/gpu3: NET, 24 GB/s each way\n  fabric: fat tree 2:1\n");
}

TEST(Topo, without_a_name_it_is_this_machine) {
  const Outcome shown = run("topo show 2>/dev/null");
  EXPECT_EQ(shown.status, 0);
  EXPECT_TRUE(contains(shown.out, "1 host, ")) << shown.out;
  EXPECT_TRUE(contains(shown.out, "\n  cpu0")) << shown.out;
  EXPECT_NE(run("topo why").status, 0);
}

TEST(Topo, what_is_wrong_is_told) {
  const std::pair<const char*, const char*> kCases[] = {
      {"check '8gpus'", "gyre topo: column 5: expected a part"},
      {"show nowhere.xml", "gyre topo: open nowhere.xml: No such file or directory"},
      {"check " GYRE_SOURCE_ROOT "/README.md", "README.md:"},
      {"check /", "gyre topo: read /"},
      {"why 2gpu gpu0 gpu2", "gyre topo: 'gpu2' is not known; there are gpu0 gpu1 cpu0"},
      {"why 2gpu host1/gpu0 gpu1", "there are hosts 0 to 0"},
  };
  for (const auto& [arguments, expected] : kCases) {
    const Outcome refused = run(std::string("topo ") + arguments);
    EXPECT_EQ(refused.status, 1) << arguments;
    EXPECT_TRUE(contains(refused.out, expected)) << refused.out;
  }
}

TEST(Run, ranks_know_who_they_are_and_lines_say_whose_they_are) {
  const Outcome done = run("run -n 3 -- sh -c 'echo I am $RANK of $WORLD_SIZE, $GYRE_LOCAL_RANK'");
  EXPECT_EQ(done.status, 0);
  for (const char* line : {"[0] I am 0 of 3, 0\n", "[1] I am 1 of 3, 1\n", "[2] I am 2 of 3, 2\n"})
    EXPECT_TRUE(contains(done.out, line)) << done.out;
}

TEST(Run, a_command_gets_its_own_arguments_and_no_more) {
  EXPECT_EQ(run("run -n 1 -- sh -c 'echo \"$# $*\"' name a -n b").out, "[0] 3 a -n b\n");
}

TEST(Run, the_first_failure_ends_the_job_and_shows_its_last_lines) {
  const Nanos began = now_ns();
  const Outcome failed = run(
      "run -n 3 -- sh -c 'if [ $RANK = 1 ]; then echo last words; exit 7; else exec sleep 60; fi'");
  EXPECT_EQ(failed.status, 7);
  EXPECT_TRUE(contains(failed.out, "rank 1 failed with status 7")) << failed.out;
  EXPECT_TRUE(contains(failed.out, "  [1] last words")) << failed.out;
  EXPECT_LT(now_ns() - began, 50_s) << "the other ranks were not ended";
}

TEST(Run, a_killed_rank_is_told_from_one_that_failed) {
  const Outcome killed = run("run -n 2 -- sh -c 'if [ $RANK = 1 ]; then kill -9 $$; fi'");
  EXPECT_EQ(killed.status, 128 + 9);
  EXPECT_TRUE(contains(killed.out, "rank 1 was ended by signal 9")) << killed.out;
}

// Starts the stuck job; ends it with the fixture.
class Status : public testing::Test {
 protected:
  Status() {
    job_ = fork();
    if (job_ == 0) {
      execl(GYRE_TOOL, "gyre", "run", "-n", "2", "--", GYRE_STUCK, name_.c_str(), nullptr);
      _exit(127);
    }
  }
  ~Status() override {
    kill(job_, SIGTERM);
    waitpid(job_, nullptr, 0);
  }
  const std::string name_ = "stuck-" + std::to_string(getpid());
  pid_t job_;
};

TEST_F(Status, names_the_rank_that_is_behind_and_the_one_that_waits) {
  std::string seen;
  for (const Nanos deadline = deadline_in(60_s); now_ns() < deadline;) {
    seen = run("status --name " + name_).out;
    if (contains(seen, "waiting for rank 1")) break;
  }
  EXPECT_TRUE(contains(seen, " " + name_ + ", 2 ranks")) << seen;
  EXPECT_TRUE(contains(seen, "in all_reduce #2 of 2 float32, sum waiting for rank 1")) << seen;
  EXPECT_TRUE(contains(seen, "<- behind")) << seen;
  EXPECT_LT(seen.find("rank 1 "), seen.find("rank 0 ")) << "who is behind comes first\n" << seen;
}

}  // namespace
}  // namespace gyre
