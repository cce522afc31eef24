#include "bench/ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "bench/meeting.h"
#include "bench/seat.h"

namespace perf {
namespace {

using Clock = std::chrono::steady_clock;
// gyre answers a dead peer within 5 s; a rank silent for twice that will not answer any more.
constexpr std::chrono::seconds kGrace{10};
constexpr std::size_t kErrorsShown = 8;

class Supervisor {
 public:
  Supervisor(const Options& options, const Collective& collective, Report& report)
      : options_(options), collective_(collective), report_(report), launched_(is_launched()) {}

  int run();

 private:
  bool prepare();
  void start_processes();
  void start_threads();
  void watch();
  void drain();
  void take_signals();
  void reap();
  void check_progress();
  void check_grace();
  void end_rank(int index, const std::string& why);
  bool is_running(int index) const;
  bool any_running() const;
  std::vector<std::string> errors() const;
  bool has_processes() const { return !pids_.empty(); }

  const Options& options_;
  const Collective& collective_;
  Report& report_;
  bool launched_;
  std::unique_ptr<Page> page_;
  int events_ = -1;     // read end
  int report_fd_ = -1;  // write end
  int signals_ = -1;
  std::vector<pid_t> pids_;  // -1: reaped
  std::vector<std::thread> threads_;
  std::uint64_t last_ticks_ = 0;
  Clock::time_point last_progress_ = Clock::now();
  Clock::time_point stopped_at_{};
  bool abandoned_ = false;  // a thread does not come back
};

bool Supervisor::prepare() {
  page_ = Page::create(launched_ ? 1 : options_.local_ranks());
  int ends[2];
  if (!page_ || pipe2(ends, O_CLOEXEC) != 0) return false;
  events_ = ends[0];
  report_fd_ = ends[1];
  fcntl(events_, F_SETFL, O_NONBLOCK);
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&set, signal);
  // Before any rank starts, so that an interrupt reaches the supervisor alone.
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (!options_.transport.empty()) setenv("GYRE_TRANSPORT", options_.transport.c_str(), 1);
  if (!options_.algorithm.empty()) setenv("GYRE_ALGO", options_.algorithm.c_str(), 1);
  return signals_ >= 0;
}

void Supervisor::start_processes() {
  std::fflush(nullptr);
  const pid_t parent = getpid();
  for (int i = 0; i < page_->seats(); ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);  // the parent died before the line above
      take_seat(options_, collective_, *page_, {i, false, report_fd_});
      std::fflush(nullptr);
      _exit(page_->seat(i).state.load() == SeatState::done ? 0 : 1);
    }
    if (pid < 0) page_->fail(i, fmt::format("fork: {}", std::strerror(errno)));
    pids_.push_back(pid);
  }
}

void Supervisor::start_threads() {
  for (int i = 0; i < page_->seats(); ++i)
    threads_.emplace_back([this, i] {
      take_seat(options_, collective_, *page_, {i, launched_, report_fd_});
    });
}

bool Supervisor::is_running(int index) const {
  if (has_processes()) return pids_[static_cast<std::size_t>(index)] > 0;
  return page_->seat(index).state.load(std::memory_order_acquire) == SeatState::running;
}

bool Supervisor::any_running() const {
  for (int i = 0; i < page_->seats(); ++i)
    if (is_running(i)) return true;
  return false;
}

void Supervisor::drain() {
  Event event;
  while (read(events_, &event, sizeof(event)) == static_cast<ssize_t>(sizeof(event))) {
    last_progress_ = Clock::now();
    report_.take(event);
  }
}

void Supervisor::end_rank(int index, const std::string& why) {
  page_->fail(index, why);
  if (has_processes()) {
    kill(pids_[static_cast<std::size_t>(index)], SIGKILL);
  } else {
    abandoned_ = true;
  }
}

void Supervisor::take_signals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    if (info.ssi_signo == SIGCHLD) {
      reap();
      continue;
    }
    for (int i = 0; i < page_->seats(); ++i)
      if (is_running(i))
        end_rank(i, fmt::format("interrupted by {}", strsignal(static_cast<int>(info.ssi_signo))));
  }
}

void Supervisor::reap() {
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    int status = 0;
    if (pids_[i] <= 0 || waitpid(pids_[i], &status, WNOHANG) != pids_[i]) continue;
    const SeatState state = page_->seat(static_cast<int>(i)).state.load();
    if (WIFSIGNALED(status) && state == SeatState::running)
      page_->fail(static_cast<int>(i),
                  fmt::format("process {} was killed by signal {} ({})", pids_[i], WTERMSIG(status),
                              strsignal(WTERMSIG(status))));
    if (WIFEXITED(status) && state == SeatState::running)
      page_->fail(static_cast<int>(i), fmt::format("process {} ended early with status {}",
                                                   pids_[i], WEXITSTATUS(status)));
    pids_[i] = -1;
  }
}

// No rank finished anything for -T seconds: name who is furthest behind.
void Supervisor::check_progress() {
  std::uint64_t ticks = 0, least = UINT64_MAX;
  int behind = 0;
  for (int i = 0; i < page_->seats(); ++i) {
    const std::uint64_t own = page_->seat(i).ticks.load(std::memory_order_relaxed);
    ticks += own;
    if (own < least) behind = i;
    least = std::min(least, own);
  }
  if (ticks != last_ticks_) last_progress_ = Clock::now();
  last_ticks_ = ticks;
  const std::chrono::seconds limit(options_.timeout_seconds);
  if (limit.count() == 0 || page_->is_stopped() || Clock::now() - last_progress_ < limit) return;
  if (is_running(behind))
    end_rank(behind, fmt::format("no rank finished an operation for {} s (-T); this one is behind, "
                                 "with {} done",
                                 options_.timeout_seconds, least));
  page_->stop();
}

void Supervisor::check_grace() {
  if (!page_->is_stopped()) return;
  if (stopped_at_ == Clock::time_point{}) stopped_at_ = Clock::now();
  if (Clock::now() - stopped_at_ < kGrace) return;
  for (int i = 0; i < page_->seats(); ++i)
    if (is_running(i))
      end_rank(i, fmt::format("still in an operation {} s after another rank failed; ended",
                              kGrace.count()));
}

void Supervisor::watch() {
  while (any_running() && !abandoned_) {
    pollfd watched[] = {{events_, POLLIN, 0}, {signals_, POLLIN, 0}};
    poll(watched, 2, has_processes() ? 200 : 20);
    drain();
    take_signals();
    check_progress();
    check_grace();
  }
  drain();
}

// First failure first; ranks that only left are not news.
std::vector<std::string> Supervisor::errors() const {
  std::vector<std::pair<std::int64_t, std::string>> failures;
  for (int i = 0; i < page_->seats(); ++i) {
    const Seat& seat = page_->seat(i);
    if (seat.state.load(std::memory_order_acquire) != SeatState::failed) continue;
    const std::string who = launched_ ? "this rank" : fmt::format("rank {}", i);
    failures.emplace_back(seat.failed_at, fmt::format("{}: {}", who, seat.error));
  }
  std::sort(failures.begin(), failures.end());
  std::vector<std::string> texts;
  for (const auto& [when, text] : failures) {
    if (texts.size() < kErrorsShown) texts.push_back(text);
  }
  if (failures.size() > kErrorsShown)
    texts.push_back(fmt::format("and {} more ranks failed", failures.size() - kErrorsShown));
  return texts;
}

int Supervisor::run() {
  if (!prepare()) {
    fmt::print(stderr, "{}: cannot set up: {}\n", options_.program, std::strerror(errno));
    return 1;
  }
  if (launched_ || options_.ranks_as == RanksAs::thread) {
    start_threads();
  } else {
    start_processes();
  }
  watch();
  const int status = report_.finish(errors(), !is_reporter());
  if (abandoned_ && !has_processes()) _exit(1);  // its thread cannot be ended by other means
  for (std::thread& thread : threads_) thread.join();
  for (int fd : {events_, report_fd_, signals_}) close(fd);
  return status;
}

}  // namespace

namespace {

// The rank a launcher gave this process; null when there is none. Slurm sets SLURM_PROCID in plain
// shells of an allocation too: only a step is a launch.
const char* launcher_rank() {
  for (const char* variable :
       {"GYRE_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const char* rank = std::getenv(variable)) return rank;
  return std::getenv("SLURM_STEP_ID") ? std::getenv("SLURM_PROCID") : nullptr;
}

}  // namespace

bool is_launched() { return launcher_rank() != nullptr; }

bool is_reporter() { return !is_launched() || std::strcmp(launcher_rank(), "0") == 0; }

int run_ranks(const Options& options, const Collective& collective, Report& report) {
  if (is_launched() && options.local_ranks() > 1) {
    fmt::print(stderr, "{}: under a launcher each process is one rank: leave out -t and -g\n",
               options.program);
    return 2;
  }
  return Supervisor(options, collective, report).run();
}

}  // namespace perf
