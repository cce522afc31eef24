#include "core/pmi.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <string_view>

namespace gyre {

namespace {

constexpr std::size_t kLineMax = 4096;

// "cmd=get_result rc=0 value=x": the text after "value=", up to a blank.
std::string field(std::string_view line, std::string_view name) {
  const std::string head = std::string(name) + "=";
  for (std::size_t at = line.find(head); at != std::string_view::npos;
       at = line.find(head, at + 1)) {
    if (at > 0 && line[at - 1] != ' ') continue;
    const std::string_view rest = line.substr(at + head.size());
    return std::string(rest.substr(0, rest.find(' ')));
  }
  return {};
}

// The process's one conversation with its launcher. Kept until the process ends: finalize comes
// last, and an MPI library in the same process may still want to talk.
class Session {
 public:
  Session(int fd, ino_t inode) : fd_(fd), inode_(inode), owner_(::getpid()) {}

  ~Session() {
    // The number may mean something else by now: an MPI library may have said good-bye and closed
    // it.
    struct stat now;
    if (::getpid() != owner_ || ::fstat(fd_, &now) != 0 || now.st_ino != inode_) return;
    (void)ask("cmd=finalize\n", "finalize_ack", deadline_in(1_s));
  }

  Status begin(Nanos deadline) {
    const std::string hello =
        GYRE_TRY(ask("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", deadline));
    if (field(hello, "rc") != "0")
      return error(Code::system, "the launcher does not speak PMI 1: '{}'", hello);
    const std::string space = GYRE_TRY(ask("cmd=get_my_kvsname\n", "my_kvsname", deadline));
    space_ = field(space, "kvsname");
    return {};
  }

  Result<std::string> exchange(const std::string& key, const std::string& value, Nanos deadline) {
    if (!value.empty()) {
      const std::string put =
          GYRE_TRY(ask(fmt::format("cmd=put kvsname={} key={} value={}\n", space_, key, value),
                       "put_result", deadline));
      if (field(put, "rc") != "0") return error(Code::system, "PMI put answered '{}'", put);
    }
    GYRE_TRY(ask("cmd=barrier_in\n", "barrier_out", deadline));
    const std::string got = GYRE_TRY(
        ask(fmt::format("cmd=get kvsname={} key={}\n", space_, key), "get_result", deadline));
    const std::string out = field(got, "value");
    if (field(got, "rc") != "0" || out.empty())
      return error(Code::system, "PMI get answered '{}'", got);
    return out;
  }

 private:
  Result<std::string> ask(std::string_view line, const char* expected, Nanos deadline) {
    GYRE_TRY(say(line));
    const std::string answer = GYRE_TRY(hear(deadline));
    if (field(answer, "cmd") != expected)
      return error(Code::system, "PMI: expected {} and heard '{}'", expected, answer);
    return answer;
  }

  Status say(std::string_view line) {
    // Not made non-blocking: others in the process may share the descriptor. A line is short.
    const ssize_t sent = ::send(fd_, line.data(), line.size(), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(line.size())) return {};
    return error(Code::system, "write to the launcher on PMI_FD {}", fd_).because(errno);
  }

  Result<std::string> hear(Nanos deadline) {
    std::string out;
    for (char c = 0; out.size() < kLineMax;) {
      pollfd entry{fd_, POLLIN, 0};
      const int ready = ::poll(&entry, 1, poll_timeout_ms(deadline));
      if (ready < 0 && errno == EINTR) continue;
      if (ready == 0) return error(Code::timeout, "the launcher does not answer on PMI_FD {}", fd_);
      // Byte by byte: what follows the line may be for another reader.
      const ssize_t got = ::read(fd_, &c, 1);
      if (got == 0) return error(Code::system, "the launcher closed PMI_FD {}", fd_);
      if (got < 0)
        return error(Code::system, "read from the launcher on PMI_FD {}", fd_).because(errno);
      if (c == '\n') return out;
      out += c;
    }
    return error(Code::system, "the launcher's line on PMI_FD {} has no end", fd_);
  }

  const int fd_;
  const ino_t inode_;
  const pid_t owner_;
  std::string space_;
};

}  // namespace

Result<std::string> pmi_exchange(int fd, const std::string& key, const std::string& value,
                                 Nanos deadline) {
  static std::mutex mutex;
  static std::unique_ptr<Session> session;
  std::lock_guard lock(mutex);
  if (!session) {
    struct stat info;
    if (::fstat(fd, &info) != 0)
      return error(Code::system, "PMI_FD {} is not open", fd).because(errno);
    auto fresh = std::make_unique<Session>(fd, info.st_ino);
    GYRE_TRY(fresh->begin(deadline));
    session = std::move(fresh);
  }
  return session->exchange(key, value, deadline);
}

}  // namespace gyre
