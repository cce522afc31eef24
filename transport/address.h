// Socket addresses: IPv4, IPv6 with its scope, and abstract AF_UNIX names. Knows how to read, print
// and pack them. Does not know which one a host should use (interfaces.h) or sockets (socket.h).
#pragma once

#include "base/result.h"

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

// An IP address and port as it travels in ids and cards; network order in `port` and `bytes`.
// family 0 is "none", 4 and 6 the IP versions. IPv4 uses the first four bytes.
struct WireAddress {
  std::uint8_t family = 0;
  std::uint8_t reserved = 0;
  std::uint16_t port = 0;
  std::uint32_t scope = 0;  // an index on the host that wrote it: see Address::scopes_here
  std::array<std::uint8_t, 16> bytes{};
};
static_assert(sizeof(WireAddress) == 24);

class Address {
 public:
  Address() = default;

  static Address v4(std::array<std::uint8_t, 4> bytes, std::uint16_t port);
  static Address v6(std::array<std::uint8_t, 16> bytes, std::uint16_t port,
                    std::uint32_t scope = 0);
  static Address abstract_unix(std::string_view name);  // at most 100 bytes
  static Address from_sockaddr(const sockaddr* address, socklen_t bytes);
  // Numeric text: "10.0.0.7:4021", "[fe80::1%eth0]:4021"; the port may be left out (0).
  static Result<Address> parse(std::string_view text);
  static Result<Address> from_wire(const WireAddress& wire);
  WireAddress to_wire() const;  // needs: is_ip()

  int family() const { return storage_.ss_family; }  // AF_UNSPEC when empty
  bool is_ip() const { return family() == AF_INET || family() == AF_INET6; }
  bool is_unix() const { return family() == AF_UNIX; }
  bool is_loopback() const;
  bool is_link_local() const;
  bool is_any() const;
  std::uint16_t port() const;
  std::uint32_t scope() const;
  Address with_port(std::uint16_t port) const;
  Address with_scope(std::uint32_t scope) const;
  bool same_host(const Address& other) const;  // equal but for port and scope
  bool operator==(const Address& other) const;

  // "10.0.0.7:4021", "[fd00::1]:4021", "unix gyre-3f2a"; without_port leaves the port out.
  std::string text() const;
  std::string host_text() const;

  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t bytes() const { return bytes_; }

 private:
  sockaddr_storage storage_{};
  socklen_t bytes_ = 0;
};

// "IPv4" or "IPv6".
const char* family_text(int family);

// Splits "host:port" and "[v6]:port". Fails: invalid-usage.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
Result<HostPort> parse_host_port(std::string_view text);

// Every address a host name or numeric address has, in the resolver's order. Fails: system.
Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port);

}  // namespace gyre
