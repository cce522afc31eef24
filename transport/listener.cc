// Listening sockets and the port range. Knows who may reuse a port and who must not.
#include "base/param.h"
#include "transport/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace gyre {

// What the knob below needs to be of this type.
static Status parse_param(std::string_view text, PortRange& out) {
  out = GYRE_TRY(parse_port_range(text));
  return {};
}
static std::string param_text(const PortRange& range) {
  return range.first == 0 ? std::string() : fmt::format("{}-{}", range.first, range.last);
}

GYRE_PARAM(port_range, PortRange, {},
           "ports that listeners may use, like 42000-42063; empty: any free port");

namespace {

constexpr int kBacklog = 4096;  // the kernel cuts it to net.core.somaxconn

// Errno of bind or listen, 0 when it listens. SO_REUSEADDR takes ports of connections that linger,
// never of a listener.
int try_listen(int fd, const Address& local) {
  if (::bind(fd, local.data(), local.bytes()) != 0) return errno;
  return ::listen(fd, kBacklog) == 0 ? 0 : errno;
}

Result<Fd> fresh_socket(const Address& local) {
  const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  Fd fd(::socket(local.family(), type, 0));
  if (!fd && errno == EMFILE && raise_file_limit()) fd.reset(::socket(local.family(), type, 0));
  if (!fd) return descriptor_error(fmt::format("listen on {}", local.text()), errno);
  const int one = 1;
  if (local.is_ip()) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (local.family() == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
  return fd;
}

Result<Fd> listen_in_range(const Address& local, const PortRange& range) {
  for (int port = range.first; port <= range.last; ++port) {
    // A fresh socket each time: after a listen() that fails a bound one cannot be bound again.
    Fd fd = GYRE_TRY(fresh_socket(local));
    const int reason = try_listen(fd.get(), local.with_port(static_cast<std::uint16_t>(port)));
    if (reason == 0) return fd;
    if (reason != EADDRINUSE && reason != EACCES)
      return error(Code::system, "listen on {}",
                   local.with_port(static_cast<std::uint16_t>(port)).text())
          .because(reason);
  }
  const int count = range.last - range.first + 1;
  return error(Code::system,
               "no free port for {} in GYRE_PORT_RANGE={}-{}: all {} are taken and at least {} are "
               "needed (one for each rank on a host, one more where a job's root is)",
               local.host_text(), range.first, range.last, count, count + 1);
}

}  // namespace

Result<PortRange> parse_port_range(std::string_view text) {
  PortRange out;
  if (text.empty()) return out;
  const char* end = text.data() + text.size();
  const auto low = std::from_chars(text.data(), end, out.first);
  if (low.ec == std::errc() && low.ptr != end && *low.ptr == '-') {
    const auto high = std::from_chars(low.ptr + 1, end, out.last);
    if (high.ec == std::errc() && high.ptr == end && out.first > 0 && out.first <= out.last)
      return out;
  }
  return error(Code::invalid_usage,
               "'{}' is no range of ports: expected first-last, like 42000-42063", text);
}

Result<Listener> Listener::open(const Address& local) {
  return open(local, param_port_range.get());
}

Result<Listener> Listener::open(const Address& local, const PortRange& range) {
  Listener out;
  if (local.is_ip() && local.port() == 0 && range.first != 0) {
    out.fd_ = GYRE_TRY(listen_in_range(local, range));
  } else {
    out.fd_ = GYRE_TRY(fresh_socket(local));
    const int reason = try_listen(out.fd_.get(), local);
    if (reason != 0) return error(Code::system, "listen on {}", local.text()).because(reason);
  }
  sockaddr_storage raw{};
  socklen_t bytes = sizeof raw;
  getsockname(out.fd_.get(), reinterpret_cast<sockaddr*>(&raw), &bytes);
  out.local_ = Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&raw), bytes);
  out.owner_pid_ = ::getpid();
  return out;
}

Listener& Listener::operator=(Listener&& other) {
  if (this == &other) return *this;
  close();
  fd_ = std::move(other.fd_);
  local_ = other.local_;
  owner_pid_ = other.owner_pid_;
  return *this;
}

void Listener::close() {
  if (!fd_) return;
  // Closing alone would leave the port taken while a forked child holds a copy; a child that ends
  // must not stop its parent's listener.
  if (owner_pid_ == ::getpid()) ::shutdown(fd_.get(), SHUT_RDWR);
  fd_.reset();
}

Result<std::optional<Socket>> Listener::accept() {
  for (;;) {
    sockaddr_storage raw{};
    socklen_t bytes = sizeof raw;
    Fd fd(::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&raw), &bytes,
                    SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      const int one = 1;
      if (local_.is_ip()) setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      const Address remote = Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&raw), bytes);
      return std::optional<Socket>(Socket(std::move(fd), remote));
    }
    switch (errno) {
      case EINTR:
      case ECONNABORTED:
        continue;
      case EAGAIN:
        return std::optional<Socket>();
      case EMFILE:
        if (raise_file_limit()) continue;
        [[fallthrough]];
      default: {
        const int reason = errno;
        return descriptor_error(fmt::format("accept on {}", local_.text()), reason);
      }
    }
  }
}

}  // namespace gyre
