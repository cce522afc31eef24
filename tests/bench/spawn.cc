#include "bench/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace perf {
namespace {

constexpr int kSilenceMs = 60'000;

[[noreturn]] void become(const std::string& path, const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<char*> words = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  for (const std::string& variable : environment) putenv(const_cast<char*>(variable.c_str()));
  execv(path.c_str(), words.data());
  _exit(127);
}

}  // namespace

Spawned::Spawned(const std::string& name, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment) {
  char path[] = "/tmp/gyre_bench_XXXXXX";
  const int error_fd = mkostemp(path, O_CLOEXEC);
  error_path_ = path;
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(error_fd, STDERR_FILENO);
    become(std::string(GYRE_BENCH_BIN) + "/" + name, arguments, environment);
  }
  close(ends[1]);
  close(error_fd);
  out_ = ends[0];
}

Spawned::~Spawned() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(out_);
  unlink(error_path_.c_str());
}

std::optional<std::string> Spawned::line() {
  for (;;) {
    const std::size_t end = pending_.find('\n');
    if (end != std::string::npos) {
      lines_.push_back(pending_.substr(0, end));
      pending_.erase(0, end + 1);
      return lines_.back();
    }
    pollfd watched{out_, POLLIN, 0};
    if (poll(&watched, 1, kSilenceMs) <= 0) return std::nullopt;
    char bytes[4096];
    const ssize_t size = read(out_, bytes, sizeof(bytes));
    if (size <= 0) return std::nullopt;
    pending_.append(bytes, static_cast<std::size_t>(size));
  }
}

bool Spawned::wait_for(const std::string& text) {
  while (const std::optional<std::string> next = line())
    if (next->find(text) != std::string::npos) return true;
  return false;
}

int Spawned::finish() {
  while (line()) {
  }
  // Its stdout is closed or silent: an exit is due now, or it hangs.
  int status = 0;
  for (int waited = 0; waited < kSilenceMs; waited += 10) {
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    poll(nullptr, 0, 10);
  }
  return -1;
}

std::string Spawned::errors() const {
  std::ifstream file(error_path_);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace perf
