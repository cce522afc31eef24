#include "core/launcher.h"

#include "core/join_ranks.h"
#include "core/processes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>

namespace gyre {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Launch> detect(const Variables& variables) {
  return detect_launcher([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Variables with(Variables base, const Variables& more) {
  for (const auto& [name, value] : more) base[name] = value;
  return base;
}

const Variables kTorch{{"RANK", "3"},
                       {"WORLD_SIZE", "8"},
                       {"LOCAL_RANK", "1"},
                       {"LOCAL_WORLD_SIZE", "2"},
                       {"MASTER_ADDR", "node7"},
                       {"MASTER_PORT", "29500"}};
const Variables kOmpi{{"OMPI_COMM_WORLD_RANK", "2"},
                      {"OMPI_COMM_WORLD_SIZE", "4"},
                      {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                      {"PMIX_RANK", "2"}};
const Variables kHydra{{"PMI_RANK", "1"},
                       {"PMI_SIZE", "3"},
                       {"PMI_FD", "9"},
                       {"MPI_LOCALRANKID", "1"},
                       {"MPI_LOCALNRANKS", "3"}};
const Variables kSrun{{"SLURM_PROCID", "5"},
                      {"SLURM_NTASKS", "6"},
                      {"SLURM_STEP_NUM_TASKS", "6"},
                      {"SLURM_LOCALID", "2"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_JOB_ID", "77"},
                      {"SLURM_STEP_NODELIST", "node[03-05,9],other"}};

struct Case {
  const char* what;
  Variables variables;
  const char* source;
  int rank, size, local_rank, local_size;
  MeetBy meet_by;
};

TEST(Launcher, finds_its_place_under_every_launcher) {
  const Case cases[] = {
      {"nothing", {}, "alone", 0, 1, 0, 0, MeetBy::nothing},
      {"own",
       {{"GYRE_RANK", "1"}, {"GYRE_SIZE", "2"}, {"GYRE_ROOT", "h:9"}},
       "gyre",
       1,
       2,
       0,
       0,
       MeetBy::fixed_address},
      {"torchrun", kTorch, "torchrun", 3, 8, 1, 2, MeetBy::fixed_address},
      {"open mpi", kOmpi, "open mpi", 2, 4, 2, 4, MeetBy::pmix},
      {"hydra", kHydra, "mpich", 1, 3, 1, 3, MeetBy::pmi},
      {"srun", kSrun, "slurm", 5, 6, 2, 0, MeetBy::fixed_address},
      {"srun --mpi=pmix", with(kSrun, {{"PMIX_RANK", "5"}}), "slurm", 5, 6, 2, 0, MeetBy::pmix},
      {"srun --mpi=pmi2", with(kSrun, {{"PMI_FD", "9"}, {"SLURM_MPI_TYPE", "pmi2"}}), "slurm", 5, 6,
       2, 0, MeetBy::fixed_address},
      {"a batch script's own shell",
       {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "6"}},
       "alone",
       0,
       1,
       0,
       0,
       MeetBy::nothing},
      {"torchrun inside srun", with(kSrun, kTorch), "torchrun", 3, 8, 1, 2, MeetBy::fixed_address},
      {"mpirun inside sbatch", with(kSrun, kOmpi), "open mpi", 2, 4, 2, 4, MeetBy::pmix},
      {"root given to mpirun", with(kOmpi, {{"GYRE_ROOT", "h:9"}}), "open mpi", 2, 4, 2, 4,
       MeetBy::fixed_address},
      {"indexed job",
       {{"JOB_COMPLETION_INDEX", "2"}, {"GYRE_SIZE", "3"}, {"GYRE_ROOT", "h:9"}},
       "indexed job",
       2,
       3,
       0,
       0,
       MeetBy::fixed_address},
      {"one rank needs no meeting",
       {{"GYRE_RANK", "0"}, {"GYRE_SIZE", "1"}},
       "gyre",
       0,
       1,
       0,
       0,
       MeetBy::nothing},
  };
  for (const Case& one : cases) {
    const auto launch = detect(one.variables);
    ASSERT_TRUE(launch) << one.what << ": " << launch.error().text;
    EXPECT_STREQ(launch->source, one.source) << one.what;
    EXPECT_EQ(launch->rank, one.rank) << one.what;
    EXPECT_EQ(launch->size, one.size) << one.what;
    EXPECT_EQ(launch->local_rank, one.local_rank) << one.what;
    EXPECT_EQ(launch->local_size, one.local_size) << one.what;
    EXPECT_EQ(launch->meet_by, one.meet_by) << one.what;
  }
}

TEST(Launcher, meeting_points_are_those_all_ranks_compute) {
  EXPECT_EQ(detect(kTorch)->root_host, "node7");
  EXPECT_EQ(detect(kTorch)->root_port, 29501) << "29500 is the store's own";
  EXPECT_EQ(detect(kSrun)->root_host, "node03");
  EXPECT_EQ(detect(with(kSrun, {{"SLURM_STEP_NODELIST", "n1,n2"}}))->root_host, "n1");
  EXPECT_EQ(detect(with(kSrun, {{"SLURM_STEP_NODELIST", "n[1,7]"}}))->root_host, "n1");
  EXPECT_EQ(detect(with(kSrun, {{"SLURM_STEP_NODELIST", "solo"}}))->root_host, "solo");
  EXPECT_EQ(detect(with(kSrun, {{"SLURM_PROCID", "0"}}))->root_port, detect(kSrun)->root_port);
  EXPECT_EQ(detect(with(kTorch, {{"RANK", "0"}}))->secret_text, detect(kTorch)->secret_text);
  for (const Variables& other :
       {with(kTorch, {{"TORCHELASTIC_RESTART_COUNT", "1"}}),
        with(kTorch, {{"GYRE_SECRET", "hush"}}), with(kTorch, {{"WORLD_SIZE", "9"}})})
    EXPECT_NE(detect(other)->secret_text, detect(kTorch)->secret_text);
}

TEST(Launcher, missing_and_malformed_variables_are_named) {
  const std::pair<Variables, const char*> cases[] = {
      {{{"GYRE_RANK", "0"}}, "GYRE_SIZE is not set"},
      {{{"GYRE_SIZE", "2"}}, "GYRE_SIZE is set, but neither GYRE_RANK"},
      {{{"GYRE_ROOT", "h:9"}}, "GYRE_ROOT is set, but neither GYRE_RANK"},
      {{{"GYRE_RANK", "2"}, {"GYRE_SIZE", "2"}}, "GYRE_RANK='2' is not valid: expected 0..1"},
      {{{"GYRE_RANK", "x"}, {"GYRE_SIZE", "2"}}, "GYRE_RANK='x'"},
      {{{"GYRE_RANK", "0"}, {"GYRE_SIZE", "2"}},
       "neither GYRE_ROOT (host:port of rank 0) nor GYRE_UNIQUE_ID"},
      {{{"GYRE_RANK", "0"}, {"GYRE_SIZE", "2"}, {"GYRE_ROOT", "nonsense"}}, "GYRE_ROOT"},
      {{{"GYRE_RANK", "0"}, {"GYRE_SIZE", "2"}, {"GYRE_ROOT", "h:0"}}, "port 0"},
      {{{"GYRE_RANK", "0"}, {"GYRE_SIZE", "2"}, {"GYRE_UNIQUE_ID", "zz"}}, "GYRE_UNIQUE_ID"},
      {with(kTorch, {{"MASTER_PORT", "70000"}}), "MASTER_PORT='70000'"},
      {with(kTorch, {{"RANK", "-1"}}), "RANK='-1'"},
      {with(kTorch, {{"WORLD_SIZE", ""}}), "WORLD_SIZE=''"},
      {with(kHydra, {{"PMI_FD", "seven"}}), "PMI_FD='seven'"},
      {with(kOmpi, {{"OMPI_COMM_WORLD_SIZE", "0"}}), "OMPI_COMM_WORLD_SIZE='0'"},
      {with(kSrun, {{"SLURM_STEP_NODELIST", ""}}), "SLURM_STEP_NODELIST"},
  };
  for (const auto& [variables, expected] : cases) {
    const auto launch = detect(variables);
    ASSERT_FALSE(launch) << expected;
    EXPECT_EQ(
        launch.error().code == Code::invalid_usage || launch.error().code == Code::invalid_argument,
        true);
    EXPECT_NE(launch.error().text.find(expected), std::string::npos) << launch.error().text;
  }
}

// What a program under a launcher does, twice, since programs make several communicators.
std::string meet_and_gather(const Result<Launch>& launch) {
  if (!launch) return launch.error().text;
  for (int job = 0; job < 2; ++job) {
    auto invitation = meet(*launch, deadline_in(20_s));
    if (!invitation) return invitation.error().text;
    auto boot = Bootstrap::join(options_for({invitation->id}, launch->rank, launch->size, 20_s));
    if (!boot) return boot.error().text;
    const int mine = launch->rank * launch->rank;
    const auto all = boot->all_gather("squares", std::as_bytes(std::span(&mine, 1)));
    if (!all) return all.error().text;
    for (int rank = 0; rank < launch->size; ++rank) {
      int theirs = -1;
      std::memcpy(&theirs, (*all)[static_cast<std::size_t>(rank)].data(), sizeof theirs);
      if (theirs != rank * rank) return "wrong sum";
    }
  }
  return fmt::format("ok {} {}", launch->source, launch->size);
}

TEST(Launcher, plain_variables_make_a_job_at_a_fixed_port) {
  Listener probe = *Listener::open(Address::v4({127, 0, 0, 1}, 0));
  const std::uint16_t port = probe.local().port();
  probe.close();
  std::vector<Process> ranks;
  for (int rank = 0; rank < 4; ++rank)
    ranks.emplace_back([&] {
      return meet_and_gather(detect({{"GYRE_RANK", std::to_string(rank)},
                                     {"GYRE_SIZE", "4"},
                                     {"GYRE_ROOT", fmt::format("127.0.0.1:{}", port)}}));
    });
  for (Process& rank : ranks) EXPECT_EQ(rank.answer(), "ok gyre 4");
}

TEST(Launcher, torchruns_variables_make_a_job_by_host_name) {
  Listener probe = *Listener::open(Address::v4({127, 0, 0, 1}, 0));
  const int port = probe.local().port() - 1;  // the store's; ours is the next
  probe.close();
  std::vector<Process> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.emplace_back([&] {
      return meet_and_gather(detect({{"RANK", std::to_string(rank)},
                                     {"WORLD_SIZE", "3"},
                                     {"MASTER_ADDR", "localhost"},
                                     {"MASTER_PORT", std::to_string(port)}}));
    });
  for (Process& rank : ranks) EXPECT_EQ(rank.answer(), "ok torchrun 3");
}

TEST(Launcher, an_id_as_text_makes_a_job) {
  const auto id = start_job();
  const auto ends = as_ranks(2, [&](int rank) -> Status {
    const auto launch = GYRE_TRY(detect({{"GYRE_RANK", std::to_string(rank)},
                                         {"GYRE_SIZE", "2"},
                                         {"GYRE_UNIQUE_ID", job_id_text(*id)}}));
    const auto invitation = GYRE_TRY(meet(launch, deadline_in(20_s)));
    GYRE_TRY(Bootstrap::join(options_for({invitation.id}, rank, 2)));
    return {};
  });
  for (const Status& end : ends) EXPECT_TRUE(end) << text_of(end);
}

TEST(Launcher, other_secrets_do_not_meet) {
  Listener probe = *Listener::open(Address::v4({127, 0, 0, 1}, 0));
  const Variables base{{"GYRE_SIZE", "2"}, {"GYRE_ROOT", probe.local().text()}};
  probe.close();
  const auto zero =
      meet(*detect(with(base, {{"GYRE_RANK", "0"}, {"GYRE_SECRET", "a"}})), deadline_in(5_s));
  ASSERT_TRUE(zero) << zero.error().text;
  const auto one =
      meet(*detect(with(base, {{"GYRE_RANK", "1"}, {"GYRE_SECRET", "b"}})), deadline_in(5_s));
  ASSERT_TRUE(one);
  const auto boot = Bootstrap::join(options_for({one->id}, 1, 2, 200_ms));
  ASSERT_FALSE(boot);
  EXPECT_NE(boot.error().text.find("another job"), std::string::npos) << boot.error().text;
}

// Started by the real mpirun below; alone it is one rank.
TEST(Launched, meets_and_gathers) {
  const std::string end = meet_and_gather(detect_launcher());
  EXPECT_EQ(end.rfind("ok ", 0), 0u) << end;
  if (const char* expected = std::getenv("EXPECTED_LAUNCH")) {
    EXPECT_EQ(end, expected);
  }
}

// Runs this program again under a launcher.
void run_under(const std::string& program, const std::string& options,
               const std::string& expected) {
  if (std::system(("command -v " + program + " >/dev/null").c_str()) != 0)
    GTEST_SKIP() << program << " is not installed";
  char self[4096];
  const ssize_t bytes = ::readlink("/proc/self/exe", self, sizeof self - 1);
  ASSERT_GT(bytes, 0);
  self[bytes] = 0;
  const std::string line = fmt::format(
      "EXPECTED_LAUNCH='{}' timeout 60 {} {} {} --gtest_filter=Launched.meets_and_gathers "
      ">/tmp/gyre-launch.{} 2>&1",
      expected, program, options, self, ::getpid());
  const int status = std::system(line.c_str());
  const std::string log = fmt::format("/tmp/gyre-launch.{}", ::getpid());
  EXPECT_EQ(status, 0) << line;
  if (status != 0) (void)!std::system(("cat " + log).c_str());
  ::unlink(log.c_str());
}

TEST(Launcher, works_under_mpichs_mpirun) {
  run_under("mpirun.mpich", "-launcher fork -n 3", "ok mpich 3");
}

TEST(Launcher, works_under_open_mpis_mpirun) {
  // What libpmix leaves allocated at exit is its own.
  ::setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
  run_under("mpirun.openmpi", "--allow-run-as-root --oversubscribe -n 3", "ok open mpi 3");
  ::unsetenv("LSAN_OPTIONS");
}

}  // namespace
}  // namespace gyre
