// Reads what the kernel says about this network namespace. Knows getifaddrs, driver names and
// routes. Does not judge: see interfaces.cc.
#include "transport/interfaces.h"

#include "base/unique.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

namespace gyre {

namespace {

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> heads) {
  return std::any_of(heads.begin(), heads.end(),
                     [&](std::string_view head) { return name.substr(0, head.size()) == head; });
}

// The driver's name, "" when it tells none. An ioctl and not sysfs: /sys may be of another
// namespace.
std::string driver_of(const std::string& name) {
  Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) fd.reset(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), std::min(name.size(), sizeof request.ifr_name - 1));
  request.ifr_data = reinterpret_cast<char*>(&info);
  if (!fd || ::ioctl(fd.get(), SIOCETHTOOL, &request) != 0) return {};
  return std::string(info.driver, strnlen(info.driver, sizeof info.driver));
}

InterfaceKind kind_of(const std::string& name, unsigned flags) {
  if (flags & IFF_LOOPBACK) return InterfaceKind::loopback;
  const std::string driver = driver_of(name);
  if (driver == "bridge" || driver == "openvswitch" ||
      starts_with_any(name, {"docker", "br-", "virbr", "cni", "lxcbr", "lxdbr", "podman"}))
    return InterfaceKind::bridge;
  if (driver == "veth" || driver == "tun" || starts_with_any(name, {"veth", "tun", "tap", "cali"}))
    return InterfaceKind::tunnel;
  return InterfaceKind::device;
}

int prefix_bits_of(const sockaddr* mask) {
  if (!mask) return 0;
  const Address address = Address::from_sockaddr(
      mask, mask->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
  int bits = 0;
  for (const std::uint8_t byte : address.to_wire().bytes) bits += std::popcount(byte);
  return bits;
}

}  // namespace

Result<std::vector<InterfaceAddress>> read_interfaces() {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return error(Code::system, "list interfaces").because(errno);
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, freeifaddrs);
  std::vector<InterfaceAddress> out, bare;
  for (const ifaddrs* entry = raw; entry; entry = entry->ifa_next) {
    InterfaceAddress one;
    one.name = entry->ifa_name;
    one.up = (entry->ifa_flags & IFF_UP) != 0;
    one.kind = kind_of(one.name, entry->ifa_flags);
    const int family = entry->ifa_addr ? entry->ifa_addr->sa_family : AF_UNSPEC;
    if (family == AF_INET || family == AF_INET6) {
      one.address = Address::from_sockaddr(
          entry->ifa_addr, family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
      one.prefix_bits = prefix_bits_of(entry->ifa_netmask);
      out.push_back(std::move(one));
    } else {
      bare.push_back(std::move(one));
    }
  }
  for (auto& one : bare) {
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const auto& other) { return other.name == one.name; });
    if (!known) out.push_back(std::move(one));
  }
  return out;
}

Result<Address> route_source(const Address& remote) {
  // Connecting a datagram socket sends nothing: it only asks the routing table.
  Fd fd(::socket(remote.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Address target = remote.with_port(remote.port() ? remote.port() : 9);
  if (!fd || ::connect(fd.get(), target.data(), target.bytes()) != 0) {
    const int reason = errno;
    return error(Code::system, "no route to {}", remote.text()).because(reason);
  }
  sockaddr_storage raw{};
  socklen_t bytes = sizeof raw;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&raw), &bytes);
  return Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&raw), bytes).with_port(0);
}

std::vector<Address> with_local_scopes(const Address& remote) {
  if (remote.family() != AF_INET6 || !remote.is_link_local()) return {remote};
  std::vector<Address> out;
  const auto all = read_interfaces();
  if (!all) return {remote};
  for (const auto& one : *all) {
    if (!one.up || one.address.family() != AF_INET6 || !one.address.is_link_local()) continue;
    out.push_back(remote.with_scope(one.address.scope()));
  }
  return out.empty() ? std::vector<Address>{remote} : out;
}

}  // namespace gyre
