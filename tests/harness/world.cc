#include "harness/world.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "base/check.h"

// Present in address-sanitizer builds alone: ranks leave by _exit, where nobody else would look.
extern "C" __attribute__((weak)) int __lsan_do_recoverable_leak_check();

namespace harness {

namespace {

constexpr Nanos kLook = 10'000'000;  // how often a waiting test looks after its processes
constexpr Nanos kBoardLimit = 100'000'000'000;
// Once a rank has failed the others may wait for it in vain: they get so long to say what they see.
constexpr Nanos kGrace = 6'000'000'000;
constexpr std::size_t kTailBytes = 6000;

void forget_variables() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry; ++entry)
    if (std::strncmp(*entry, "GYRE_", 5) == 0)
      names.emplace_back(*entry, std::strcspn(*entry, "="));
  for (const std::string& name : names) unsetenv(name.c_str());
}

std::string tail(const std::string& text) {
  return text.size() <= kTailBytes ? text : "...\n" + text.substr(text.size() - kTailBytes);
}

}  // namespace

gyreUniqueId Rank::id(int slot, int owner) const {
  const auto at = static_cast<std::size_t>(slot);
  GYRE_CHECK(at < kIdsMax);
  std::atomic<std::uint32_t>& ready = board_->ids_ready[at];
  if (rank_ == owner) {
    const gyreResult_t made = gyreGetUniqueId(&board_->ids[at]);
    EXPECT_EQ(made, gyreSuccess) << gyreGetLastError(nullptr);
    ready.store(1);
    wake_word(ready);
  } else {
    EXPECT_TRUE(wait_for_word(
        ready, [](std::uint32_t r) { return r != 0; }, now_ns() + kBoardLimit))
        << "rank " << owner << " made no id";
  }
  return board_->ids[at];
}

gyreComm_t Rank::join(gyreConfig_t* config, int slot) const {
  gyreComm_t comm = nullptr;
  const gyreResult_t made = gyreCommInitRankConfig(&comm, size_, id(slot), rank_, config);
  if (made != gyreSuccess) {
    ADD_FAILURE() << "rank " << rank_ << " got no communicator: " << gyreGetLastError(nullptr);
    fflush(nullptr);
    _exit(1);
  }
  return comm;
}

void Rank::reach(std::uint32_t point) const {
  std::atomic<std::uint32_t>& mine = board_->points[static_cast<std::size_t>(rank_)];
  mine.store(point);
  wake_word(mine);
}

void Rank::await(int rank, std::uint32_t point) const {
  EXPECT_TRUE(wait_for_word(
      board_->points[static_cast<std::size_t>(rank)],
      [&](std::uint32_t now) { return now >= point; }, now_ns() + kBoardLimit))
      << "rank " << rank << " never came to point " << point;
}

void Rank::meet() const {
  // Once a rank in this process has failed it may not come: look up now and then.
  const Nanos deadline = now_ns() + kBoardLimit;
  const std::uint32_t round = arrive_at_board(*board_, size_);
  auto on = [&](std::uint32_t now) { return now != round; };
  while (!testing::Test::HasFailure())
    if (wait_for_word(board_->round, on, std::min(deadline, now_ns() + kGrace / 4)))
      return;
    else
      ASSERT_LT(now_ns(), deadline) << "ranks did not meet";
}

World::World(WorldOptions options, Body body)
    : options_(std::move(options)), body_(std::move(body)), memory_(make_board()) {
  GYRE_CHECK(options_.ranks <= kRanksMax);
  deadline_ = now_ns() + options_.limit;
  processes_.resize(options_.threads ? 1 : static_cast<std::size_t>(options_.ranks));
  // A child would inherit the failure and report it as its own.
  failed_before_ = testing::Test::HasFailure();
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (failed_before_)
      processes_[i].ending = Ending::well;
    else
      start(i);
  }
}

World::~World() {
  for (Process& process : processes_) {
    if (process.ending != Ending::running) continue;
    ::kill(process.pid, SIGKILL);
    ::waitpid(process.pid, nullptr, 0);
  }
}

void World::start(std::size_t i) {
  Process& process = processes_[i];
  process.log = gyre::Fd(memfd_create("rank-log", MFD_CLOEXEC));
  GYRE_CHECK(static_cast<bool>(process.log));
  fflush(nullptr);
  process.pid = ::fork();
  GYRE_CHECK(process.pid >= 0);
  if (process.pid == 0) live(i);
  process.end = gyre::Fd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  GYRE_CHECK(static_cast<bool>(process.end));
}

void World::live(std::size_t i) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(processes_[i].log.get(), STDOUT_FILENO);
  ::dup2(processes_[i].log.get(), STDERR_FILENO);
  for (Process& process : processes_) process.log.reset(), process.end.reset();
  setvbuf(stdout, nullptr, _IOLBF, 0);
  forget_variables();
  for (const auto& [name, value] : options_.environment) setenv(name.c_str(), value.c_str(), 1);
  if (options_.prepare) options_.prepare(static_cast<int>(i));
  auto run = [&](int number) {
    Rank rank(board(), number, options_.ranks);
    body_(rank);
  };
  if (options_.threads) {
    std::vector<std::thread> threads;
    for (int r = 0; r < options_.ranks; ++r) threads.emplace_back(run, r);
    for (std::thread& thread : threads) thread.join();
  } else {
    run(static_cast<int>(i));
  }
  bool bad = testing::Test::HasFailure();
  if (__lsan_do_recoverable_leak_check) bad |= __lsan_do_recoverable_leak_check() != 0;
  fflush(nullptr);
  _exit(bad ? 1 : 0);
}

void World::collect() {
  for (Process& process : processes_) {
    if (process.ending != Ending::running) continue;
    if (::waitpid(process.pid, &process.status, WNOHANG) != process.pid) continue;
    const bool killed = WIFSIGNALED(process.status) && WTERMSIG(process.status) == SIGKILL;
    if (killed && process.condemned)
      process.ending = Ending::killed;
    else
      process.ending = process.status == 0 ? Ending::well : Ending::failed;
    if (process.ending == Ending::failed) deadline_ = std::min(deadline_, now_ns() + kGrace);
  }
}

bool World::await(int rank, std::uint32_t point) {
  if (failed_before_) return false;
  std::atomic<std::uint32_t>& word = board().points[static_cast<std::size_t>(rank)];
  for (;;) {
    const std::uint32_t seen = word.load();
    if (seen >= point) return true;
    collect();
    if (at(rank).ending != Ending::running || now_ns() > deadline_) {
      ADD_FAILURE() << "rank " << rank << " never came to point " << point << ": "
                    << state_text(index(rank));
      return false;
    }
    sleep_on_word(word, seen, kLook);
  }
}

void World::reach(std::uint32_t point) { Rank(board(), kTest, options_.ranks).reach(point); }

void World::signal(int rank, int number) {
  collect();
  if (at(rank).ending != Ending::running) return;  // its number may be another's by now
  if (number == SIGKILL) at(rank).condemned = true;
  ::kill(at(rank).pid, number);
}

void World::finish() {
  auto any_running = [&] {
    for (const Process& process : processes_)
      if (process.ending == Ending::running) return true;
    return false;
  };
  for (collect(); any_running(); collect()) {
    if (now_ns() > deadline_) {
      report_overdue();
      break;
    }
    wait_for_an_end();
  }
  for (std::size_t i = 0; i < processes_.size(); ++i)
    if (processes_[i].ending == Ending::failed) ADD_FAILURE() << state_text(i);
}

void World::wait_for_an_end() {
  std::vector<pollfd> ends;
  for (const Process& process : processes_)
    if (process.ending == Ending::running) ends.push_back({process.end.get(), POLLIN, 0});
  ::poll(ends.data(), ends.size(), gyre::poll_timeout_ms(deadline_));
}

void World::report_overdue() {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    Process& process = processes_[i];
    ADD_FAILURE() << "time is up: " << state_text(i);
    if (process.ending != Ending::running) continue;
    ::kill(process.pid, SIGKILL);
    ::waitpid(process.pid, &process.status, 0);
    process.ending = Ending::killed;
  }
}

std::string World::state_text(std::size_t i) const {
  const Process& process = processes_[i];
  const int rank = static_cast<int>(i);
  std::string how;
  if (process.ending == Ending::running)
    how = "still running";
  else if (WIFSIGNALED(process.status))
    how = fmt::format("died of signal {}", WTERMSIG(process.status));
  else
    how = fmt::format("exited with {}", WEXITSTATUS(process.status));
  return fmt::format("{} {}, at point {}\n{}",
                     options_.threads ? "ranks" : fmt::format("rank {}", i), how,
                     board().points[i].load(), tail(log(rank)));
}

std::string World::log(int rank) const {
  std::string out;
  char text[4096];
  for (ssize_t got;
       (got = ::pread(at(rank).log.get(), text, sizeof text, static_cast<off_t>(out.size()))) > 0;)
    out.append(text, static_cast<std::size_t>(got));
  return out;
}

void run_world(WorldOptions options, Body body) {
  World world(std::move(options), std::move(body));
  world.finish();
}

std::function<void(int)> on_hosts(int ranks, int hosts) {
  return [=](int rank) {
    setenv("GYRE_HOST_ID", fmt::format("host-{}", rank * hosts / ranks).c_str(), 1);
  };
}

}  // namespace harness
