// A process that runs one function and says one line: ranks that can be killed, stopped, put in a
// network namespace of their own, or limited.
#pragma once

#include "base/clock.h"
#include "base/unique.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace gyre {

class Process {
 public:
  // What `body` returns is what answer() gives.
  explicit Process(const std::function<std::string()>& body) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      const std::string line = body();
      (void)!::write(ends[1], line.data(), line.size());
      ::_exit(0);
    }
    ::close(ends[1]);
    answer_ = Fd(ends[0]);
  }
  Process(Process&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), answer_(std::move(other.answer_)) {}
  ~Process() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  void signal(int number) const { ::kill(pid_, number); }
  pid_t pid() const { return pid_; }

  // "" when it died without a word, "no answer" when it does not end in time.
  std::string answer(Nanos limit = 30_s) {
    std::string out;
    const Nanos deadline = deadline_in(limit);
    for (;;) {
      pollfd entry{answer_.get(), POLLIN, 0};
      if (::poll(&entry, 1, poll_timeout_ms(deadline)) == 0) return "no answer";
      char text[4096];
      const ssize_t got = ::read(answer_.get(), text, sizeof text);
      if (got <= 0) return out;
      out.append(text, static_cast<std::size_t>(got));
    }
  }

 private:
  pid_t pid_ = -1;
  Fd answer_;
};

}  // namespace gyre
