#include "harness/network.h"

#include <fmt/format.h>

namespace harness {

namespace {

std::string port(std::size_t host) { return fmt::format("port{}", host); }

}  // namespace

Network::Network(int hosts)
    : hosts_(static_cast<std::size_t>(hosts)),
      made_(bridge_ && bridge_.run("ip link add bridge0 type bridge && ip link set bridge0 up")) {
  for (std::size_t h = 0; h < hosts_.size() && made_; ++h)
    made_ = hosts_[h] && connect(bridge_, port(h), hosts_[h], "eth0") &&
            bridge_.run("ip link set " + port(h) + " master bridge0") &&
            hosts_[h].run(fmt::format("ip addr add 10.77.0.{}/24 dev eth0", h + 1));
}

bool Network::cut(int host) const {
  return bridge_.run("ip link set " + port(static_cast<std::size_t>(host)) + " down");
}

}  // namespace harness
