// gyre run: N local ranks of one command, each told who it is. Output is prefixed by rank; the
// first failure ends the job and shows that rank's last lines. Local processes only.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/unique.h"
#include "cli/commands.h"
#include "cli/namespaces.h"
#include "core/root.h"
#include "transport/socket.h"

namespace gyre::cli {

namespace {

constexpr std::size_t kLastLines = 20;
constexpr Nanos kGrace = 5_s;  // between asking ranks to end and killing them

struct Options {
  int size = 2, netns = 0;
  bool plain = false;
  std::vector<std::string> command;
};

struct Rank {
  pid_t pid = -1;
  Fd out, err;
  std::string out_part, err_part;  // of a line under way
  std::deque<std::string> last;
  bool running = true;
};

volatile sig_atomic_t caught = 0;
void note_signal(int number) { caught = number; }

void set_environment(const Options& o, int rank, const std::string& id, const std::string& master,
                     std::uint16_t port) {
  const int hosts = o.netns > 0 ? o.netns : 1;
  const int per_host = (o.size + hosts - 1) / hosts;
  const int host = rank / per_host;
  const int local_size = std::min(per_host, o.size - host * per_host);
  auto set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 1); };
  set("GYRE_RANK", std::to_string(rank));
  set("GYRE_SIZE", std::to_string(o.size));
  set("GYRE_UNIQUE_ID", id);
  set("GYRE_LOCAL_RANK", std::to_string(rank % per_host));
  set("GYRE_LOCAL_SIZE", std::to_string(local_size));
  if (hosts > 1) set("GYRE_HOST_ID", "netns " + std::to_string(host));
  set("RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(o.size));
  set("LOCAL_RANK", std::to_string(rank % per_host));
  set("LOCAL_WORLD_SIZE", std::to_string(local_size));
  set("GROUP_RANK", std::to_string(host));
  set("MASTER_ADDR", master);
  set("MASTER_PORT", std::to_string(port));
  if (!getenv("OMP_NUM_THREADS")) set("OMP_NUM_THREADS", "1");
}

[[noreturn]] void become_rank(const Options& o, const Namespaces* hosts, int rank) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  if (hosts) {
    const int per_host = (o.size + o.netns - 1) / o.netns;
    const Status entered = hosts->enter(rank / per_host);
    if (!entered) {
      std::fprintf(stderr, "gyre run: %s\n", entered.error().text.c_str());
      _exit(126);
    }
  }
  std::vector<char*> argv;
  for (const std::string& word : o.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  std::fprintf(stderr, "gyre run: cannot start %s: %s\n", argv[0], std::strerror(errno));
  _exit(127);
}

// Prints whole lines with the rank in front; keeps the last ones.
void pass_on(Rank& rank, int number, bool plain, std::string& part, const char* bytes,
             std::size_t count, std::FILE* to) {
  part.append(bytes, count);
  for (std::size_t end; (end = part.find('\n')) != std::string::npos; part.erase(0, end + 1)) {
    const std::string line = part.substr(0, end);
    if (plain)
      std::fprintf(to, "%s\n", line.c_str());
    else
      std::fprintf(to, "[%d] %s\n", number, line.c_str());
    rank.last.push_back(line);
    if (rank.last.size() > kLastLines) rank.last.pop_front();
  }
  std::fflush(to);
}

// False at the end of the stream.
bool drain(Rank& rank, int number, bool plain, bool error_stream) {
  char buffer[8192];
  Fd& fd = error_stream ? rank.err : rank.out;
  const ssize_t got = read(fd.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got <= 0) {
    fd.reset();
    return false;
  }
  pass_on(rank, number, plain, error_stream ? rank.err_part : rank.out_part, buffer,
          static_cast<std::size_t>(got), error_stream ? stderr : stdout);
  return true;
}

class Job {
 public:
  explicit Job(const Options& options) : o_(options) {}
  Status start(const Namespaces* hosts, const std::string& id, const std::string& master,
               std::uint16_t port);
  // Exit status of the job: of the first rank that failed.
  int wait();

 private:
  void reap();
  void signal_all(int number);

  Options o_;
  std::vector<Rank> ranks_;
  int failed_rank_ = -1;
  int failure_ = 0;
  std::string how_;  // it ended
};

Status Job::start(const Namespaces* hosts, const std::string& id, const std::string& master,
                  std::uint16_t port) {
  for (int rank = 0; rank < o_.size; ++rank) {
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
      return descriptor_error("pipe to a rank", errno);
    Rank& made = ranks_.emplace_back();
    made.out.reset(out[0]);
    made.err.reset(err[0]);
    made.pid = fork();
    if (made.pid < 0) return error(Code::system, "fork of rank {}", rank).because(errno);
    if (made.pid == 0) {
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      set_environment(o_, rank, id, master, port);
      become_rank(o_, hosts, rank);
    }
    close(out[1]);
    close(err[1]);
  }
  return {};
}

void Job::signal_all(int number) {
  for (const Rank& rank : ranks_)
    if (rank.running) kill(-rank.pid, number);
}

void Job::reap() {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    int status = 0;
    if (!rank.running || waitpid(rank.pid, &status, WNOHANG) != rank.pid) continue;
    rank.running = false;
    if (status == 0 || failed_rank_ >= 0) continue;
    failed_rank_ = static_cast<int>(i);
    if (WIFSIGNALED(status)) {
      failure_ = 128 + WTERMSIG(status);
      how_ =
          fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
      failure_ = WEXITSTATUS(status);
      how_ = fmt::format("failed with status {}", failure_);
    }
  }
}

int Job::wait() {
  Nanos kill_at = kNever;
  for (;;) {
    std::vector<pollfd> polls;
    std::vector<std::pair<std::size_t, bool>> owners;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i].out)
        polls.push_back({ranks_[i].out.get(), POLLIN, 0}), owners.emplace_back(i, false);
      if (ranks_[i].err)
        polls.push_back({ranks_[i].err.get(), POLLIN, 0}), owners.emplace_back(i, true);
    }
    poll(polls.data(), polls.size(), 50);
    for (std::size_t k = 0; k < polls.size(); ++k)
      if (polls[k].revents)
        drain(ranks_[owners[k].first], static_cast<int>(owners[k].first), o_.plain,
              owners[k].second);
    reap();
    bool running = false;
    for (const Rank& rank : ranks_) running |= rank.running;
    if (!running && polls.empty()) break;
    if (caught != 0) {
      signal_all(caught);
      if (failure_ == 0) failure_ = 128 + caught;
      caught = 0;
      if (kill_at == kNever) kill_at = now_ns() + kGrace;
    }
    if (failed_rank_ >= 0 && kill_at == kNever) {
      signal_all(SIGTERM);
      kill_at = now_ns() + kGrace;
    }
    if (now_ns() > kill_at) {
      signal_all(SIGKILL);
      for (Rank& rank : ranks_)
        if (!rank.running) rank.out.reset(), rank.err.reset();
    }
  }
  if (failed_rank_ >= 0) {
    std::fprintf(stderr, "gyre run: rank %d %s; its last lines:\n", failed_rank_, how_.c_str());
    for (const std::string& line : ranks_[static_cast<std::size_t>(failed_rank_)].last)
      std::fprintf(stderr, "  [%d] %s\n", failed_rank_, line.c_str());
  }
  return failure_;
}

// A port that was free a moment ago, for programs that open one of their own at MASTER_PORT.
Result<std::uint16_t> free_port() {
  const Listener probe = GYRE_TRY(Listener::open(Address::v4({127, 0, 0, 1}, 0)));
  return probe.local().port();
}

Result<int> run(const Options& o) {
  std::optional<Namespaces> hosts;
  if (o.netns > 0) hosts.emplace(GYRE_TRY(Namespaces::make(o.netns)));
  const std::string address = hosts ? hosts->bridge_address() : "127.0.0.1";
  const Address root_address = GYRE_TRY(Address::parse(address + ":0"));
  const std::unique_ptr<Root> root =
      GYRE_TRY(Root::start({.secret = random_secret(), .addresses = {root_address}}));
  const std::uint16_t port = GYRE_TRY(free_port());
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, note_signal);
  Job job(o);
  GYRE_TRY(job.start(hosts ? &*hosts : nullptr, job_id_text(root->id()),
                     hosts ? hosts->address(0) : address, port));
  return job.wait();
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  static Options o;
  auto* command = app.add_subcommand("run", "N local ranks of a command");
  command->add_option("-n,--ranks", o.size, "number of ranks")->check(CLI::Range(1, 4096));
  command->add_option("--netns", o.netns, "spread them over this many network namespaces (root)");
  command->add_flag("--no-prefix", o.plain, "print lines without the rank in front");
  command->add_option("command", o.command, "command and its arguments, after --")->required();
  command->callback([&action] {
    action = [] {
      auto status = run(o);
      if (status) return *status;
      std::fprintf(stderr, "gyre run: %s\n", status.error().text.c_str());
      return 1;
    };
  });
}

}  // namespace gyre::cli
