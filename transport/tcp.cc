#include "transport/tcp.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "base/param.h"

namespace gyre {

GYRE_PARAM(tcp_congestion, std::string, "auto",
           "TCP congestion control of data sockets; auto replaces bbr, whose pacing starves short "
           "bursts, by cubic or reno; system leaves it alone");

namespace {

constexpr std::uint32_t kSilentMs = 5000;  // unacknowledged for so long: the host is gone

class TcpWire final : public Wire {
 public:
  explicit TcpWire(Fd socket) : socket_(std::move(socket)) {}

  Moved send(std::span<const iovec> parts) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? stopped() : Moved{.bytes = static_cast<std::size_t>(sent)};
  }
  Moved receive(std::span<const iovec> parts) override {
    const ssize_t got = readv(socket_.get(), parts.data(), static_cast<int>(parts.size()));
    return got < 0 ? stopped() : Moved{static_cast<std::size_t>(got), got == 0};
  }
  Status probe() override;
  bool arrived() const override;
  int descriptor() const override { return socket_.get(); }

 private:
  static Moved stopped() {
    if (errno == EAGAIN || errno == EINTR) return {};
    return {.over = true, .reason = errno};
  }

  Fd socket_;
};

// A unix stream hands over what is sent at once, and counts it until it is read.
bool TcpWire::arrived() const {
  int domain = AF_UNIX, unacknowledged = 0;
  socklen_t length = sizeof domain;
  if (getsockopt(socket_.get(), SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || domain == AF_UNIX)
    return true;
  return ioctl(socket_.get(), SIOCOUTQ, &unacknowledged) != 0 || unacknowledged == 0;
}

Status TcpWire::probe() {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
      info.tcpi_unacked > 0 && info.tcpi_last_ack_recv > kSilentMs && info.tcpi_backoff > 0)
    return error(Code::remote, "its host has acknowledged nothing for {} ms",
                 info.tcpi_last_ack_recv);
  return {};
}

void choose_congestion_control(int socket) {
  const std::string& wish = param_tcp_congestion.get();
  if (wish == "system") return;
  char current[16] = {};
  socklen_t length = sizeof current;
  if (getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, current, &length) != 0) return;
  auto set = [&](const std::string& name) {
    return setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
  };
  if (wish == "auto") {
    if (std::string_view(current) == "bbr" && !set("cubic")) (void)set("reno");
    return;
  }
  if (!set(wish) && log_first("congestion " + wish))
    GYRE_LOG(warn, "TCP congestion control {} refused: {}", wish, std::strerror(errno));
}

}  // namespace

std::unique_ptr<Wire> make_tcp_wire(Fd socket) {
  const int on = 1, idle_s = 2, interval_s = 1, probes = 3;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  choose_congestion_control(socket.get());
  return std::make_unique<TcpWire>(std::move(socket));
}

std::unique_ptr<Link> make_tcp_link(int peer, Fd socket, std::uint64_t fifo_limit_bytes) {
  return make_pump_link(peer, "tcp", make_tcp_wire(std::move(socket)), fifo_limit_bytes);
}

}  // namespace gyre
