#include "transport/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace gyre {

namespace {

constexpr int kAbortSliceMs = 20;
constexpr std::size_t kFdsMax = 16;

// A non-blocking, close-on-exec stream socket for the family of `address`.
Result<Fd> make_socket(const Address& address) {
  const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  Fd fd(::socket(address.family(), type, 0));
  if (!fd && errno == EMFILE && raise_file_limit()) fd.reset(::socket(address.family(), type, 0));
  if (!fd && errno == EAFNOSUPPORT)
    return error(Code::system, "this host has no {}, asked for by address {}",
                 family_text(address.family()), address.text());
  if (!fd) return descriptor_error(fmt::format("socket for {}", address.text()), errno);
  return fd;
}

void set_no_delay(int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);  // a unix socket has none: no matter
}

}  // namespace

int Until::slice_ms() const {
  const int left = poll_timeout_ms(deadline);
  if (!abort) return left;
  return left < 0 ? kAbortSliceMs : std::min(left, kAbortSliceMs);
}

Status Until::check(const char* doing) const {
  if (aborted()) return error(Code::aborted, "aborted during {}", doing);
  if (passed()) return error(Code::timeout, "time-out during {}", doing);
  return {};
}

Status wait_ready(int fd, short events, const Until& until, const char* doing) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, until.slice_ms());
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR)
      return error(Code::system, "poll during {}", doing).because(errno);
    GYRE_TRY(until.check(doing));
  }
}

bool raise_file_limit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

Error descriptor_error(const std::string& doing, int errno_value) {
  if (errno_value != EMFILE) return error(Code::system, "{}", doing).because(errno_value);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return error(Code::system,
               "{}: all {} open files that RLIMIT_NOFILE allows are in use (hard limit {})", doing,
               limit.rlim_cur, limit.rlim_max)
      .because(errno_value);
}

Result<Socket> Socket::start(const Address& remote) {
  Fd fd = GYRE_TRY(make_socket(remote));
  set_no_delay(fd.get());
  Socket socket(std::move(fd), remote);
  if (::connect(socket.fd(), remote.data(), remote.bytes()) != 0 && errno != EINPROGRESS &&
      errno != EINTR) {
    const int reason = errno;  // before ends() makes calls of its own
    const Code code = reason == EAGAIN && remote.is_unix() ? Code::in_progress : Code::system;
    return error(code, "connect {}", socket.ends()).because(reason);
  }
  return socket;
}

Status Socket::finish() {
  int reason = 0;
  socklen_t bytes = sizeof reason;
  if (getsockopt(fd(), SOL_SOCKET, SO_ERROR, &reason, &bytes) != 0) reason = errno;
  if (reason != 0) return error(Code::system, "connect {}", ends()).because(reason);
  return {};
}

Result<Socket> Socket::connect(const Address& remote, const Until& until) {
  Socket socket = GYRE_TRY(start(remote));
  GYRE_TRY_WHILE(wait_ready(socket.fd(), POLLOUT, until, "connect"), "connecting {}",
                 socket.ends());
  GYRE_TRY(socket.finish());
  return socket;
}

Result<std::size_t> Socket::send_some(std::span<const std::byte> bytes) {
  for (;;) {
    const ssize_t sent = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
    const int reason = errno;
    return error(Code::remote, "send {}", ends()).because(reason);
  }
}

Result<std::size_t> Socket::recv_some(std::span<std::byte> bytes) {
  for (;;) {
    const ssize_t got = ::recv(fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) return error(Code::remote, "receive {}: the other side closed it", ends());
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
    const int reason = errno;
    return error(Code::remote, "receive {}", ends()).because(reason);
  }
}

Status Socket::send_all(std::span<const std::byte> bytes, const Until& until) {
  while (!bytes.empty()) {
    const std::size_t sent = GYRE_TRY(send_some(bytes));
    if (sent == 0) GYRE_TRY_WHILE(wait_ready(fd(), POLLOUT, until, "send"), "sending {}", ends());
    bytes = bytes.subspan(sent);
  }
  return {};
}

Status Socket::recv_all(std::span<std::byte> bytes, const Until& until) {
  while (!bytes.empty()) {
    const std::size_t got = GYRE_TRY(recv_some(bytes));
    if (got == 0)
      GYRE_TRY_WHILE(wait_ready(fd(), POLLIN, until, "receive"), "receiving {}", ends());
    bytes = bytes.subspan(got);
  }
  return {};
}

Status Socket::send_fds(std::span<const int> fds, std::span<const std::byte> bytes,
                        const Until& until) {
  if (fds.empty() || fds.size() > kFdsMax || bytes.empty())
    return error(Code::internal, "send_fds of {} descriptors and {} bytes", fds.size(),
                 bytes.size());
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kFdsMax * sizeof(int))> control{};
  iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
  for (;;) {
    const ssize_t sent = ::sendmsg(fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    // The descriptors ride on the first byte; what is left of the text is ordinary.
    if (sent > 0) return send_all(bytes.subspan(static_cast<std::size_t>(sent)), until);
    if (errno == EINTR) continue;
    const int reason = errno;
    if (reason != EAGAIN && reason != EWOULDBLOCK)
      return error(Code::remote, "send descriptors {}", ends()).because(reason);
    GYRE_TRY(wait_ready(fd(), POLLOUT, until, "send descriptors"));
  }
}

Result<std::vector<Fd>> Socket::recv_fds(std::span<std::byte> bytes, const Until& until) {
  std::vector<Fd> out;
  while (!bytes.empty()) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kFdsMax * sizeof(int))> control{};
    iovec piece{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(fd(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      GYRE_TRY(wait_ready(fd(), POLLIN, until, "receive descriptors"));
      continue;
    }
    if (got < 0) return error(Code::remote, "receive descriptors {}", ends()).because(errno);
    if (got == 0) return error(Code::remote, "receive {}: the other side closed it", ends());
    for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
      if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int received;
        std::memcpy(&received, CMSG_DATA(head) + i * sizeof(int), sizeof received);
        out.emplace_back(received);
      }
    }
    // The kernel drops what does not fit our table of files, and says so only here.
    if (message.msg_flags & MSG_CTRUNC)
      return descriptor_error(fmt::format("receive descriptors {}", ends()), EMFILE);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return out;
}

Address Socket::local() const {
  sockaddr_storage raw{};
  socklen_t bytes = sizeof raw;
  if (getsockname(fd(), reinterpret_cast<sockaddr*>(&raw), &bytes) != 0) return {};
  return Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&raw), bytes);
}

std::string Socket::ends() const {
  if (is_unix()) return fmt::format("to {}", remote_.text());
  return fmt::format("{} to {}", local().text(), remote_.text());
}

}  // namespace gyre
