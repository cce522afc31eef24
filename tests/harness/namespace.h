// Network namespaces of this test alone: they vanish with it, however it ends. Knows how to make,
// wire and enter them, as root.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "base/unique.h"

namespace harness {

using namespace gyre;  // owners, clock and literals

class Namespace {
 public:
  // Empty where the kernel or the user's rights do not allow one.
  Namespace() {
    std::thread([this] {
      if (::unshare(CLONE_NEWNET) == 0)
        fd_ = Fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    }).join();
    if (fd_) run("ip link set lo up");
  }
  explicit operator bool() const { return static_cast<bool>(fd_); }

  // Moves the calling thread in; threads it starts follow.
  void enter() const { GYRE_CHECK(::setns(fd_.get(), CLONE_NEWNET) == 0); }

  // A shell line inside. True when it succeeded.
  bool run(const std::string& line) const {
    const pid_t child = ::fork();
    if (child == 0) {
      enter();
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    return status == 0;
  }

  // Until the line succeeds: the kernel does some things a little after it was asked.
  bool eventually(const std::string& line) const {
    const Nanos deadline = deadline_in(20_s);
    while (!run(line))
      if (now_ns() > deadline) return false;
    return true;
  }

  // How `ip` names it.
  std::string path() const {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_.get());
  }

 private:
  Fd fd_;
};

// A cable: `near_name` in one namespace, `far_name` in the other, both up, without addresses.
inline bool connect(const Namespace& near, const std::string& near_name, const Namespace& far,
                    const std::string& far_name) {
  return near.run("ip link add " + near_name + " type veth peer name " + far_name + " netns " +
                  far.path()) &&
         near.run("ip link set " + near_name + " up") && far.run("ip link set " + far_name + " up");
}

}  // namespace harness
