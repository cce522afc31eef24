#include "transport/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace gyre {

namespace {

constexpr std::size_t kUnixNameMax = 100;

template <class T>
T view_as(const sockaddr_storage& storage) {
  T out;
  std::memcpy(&out, &storage, sizeof out);
  return out;
}

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (problem != std::errc() || end != text.data() + text.size())
    return error(Code::invalid_usage, "'{}' is not a port (0..65535)", text);
  return port;
}

// "fe80::1%eth0" or "fe80::1%3"; the scope is 0 without a percent sign.
Result<Address> parse_numeric(const std::string& host, std::uint16_t port) {
  in_addr four;
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) {
    std::array<std::uint8_t, 4> bytes;
    std::memcpy(bytes.data(), &four, sizeof four);
    return Address::v4(bytes, port);
  }
  const std::size_t percent = host.find('%');
  in6_addr six;
  if (inet_pton(AF_INET6, host.substr(0, percent).c_str(), &six) != 1)
    return error(Code::invalid_usage, "'{}' is not a numeric address", host);
  std::uint32_t scope = 0;
  if (percent != std::string::npos) {
    const std::string zone = host.substr(percent + 1);
    scope = if_nametoindex(zone.c_str());
    if (scope == 0) {
      const auto [end, problem] = std::from_chars(zone.data(), zone.data() + zone.size(), scope);
      if (problem != std::errc() || end != zone.data() + zone.size())
        return error(Code::invalid_usage, "'{}' names no interface of this host", host);
    }
  }
  std::array<std::uint8_t, 16> bytes;
  std::memcpy(bytes.data(), &six, sizeof six);
  return Address::v6(bytes, port, scope);
}

}  // namespace

Address Address::v4(std::array<std::uint8_t, 4> bytes, std::uint16_t port) {
  sockaddr_in raw{};
  raw.sin_family = AF_INET;
  raw.sin_port = htons(port);
  std::memcpy(&raw.sin_addr, bytes.data(), bytes.size());
  return from_sockaddr(reinterpret_cast<const sockaddr*>(&raw), sizeof raw);
}

Address Address::v6(std::array<std::uint8_t, 16> bytes, std::uint16_t port, std::uint32_t scope) {
  sockaddr_in6 raw{};
  raw.sin6_family = AF_INET6;
  raw.sin6_port = htons(port);
  raw.sin6_scope_id = scope;
  std::memcpy(&raw.sin6_addr, bytes.data(), bytes.size());
  return from_sockaddr(reinterpret_cast<const sockaddr*>(&raw), sizeof raw);
}

Address Address::abstract_unix(std::string_view name) {
  sockaddr_un raw{};
  raw.sun_family = AF_UNIX;
  const std::size_t bytes = std::min(name.size(), kUnixNameMax);
  std::memcpy(raw.sun_path + 1, name.data(), bytes);  // a leading 0 byte makes it abstract
  return from_sockaddr(reinterpret_cast<const sockaddr*>(&raw),
                       static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes));
}

Address Address::from_sockaddr(const sockaddr* address, socklen_t bytes) {
  Address out;
  out.bytes_ = std::min<socklen_t>(bytes, sizeof out.storage_);
  std::memcpy(&out.storage_, address, out.bytes_);
  return out;
}

Result<Address> Address::parse(std::string_view text) {
  // A bare IPv6 address has several colons and no port.
  const bool bare_v6 =
      !text.empty() && text[0] != '[' && std::count(text.begin(), text.end(), ':') > 1;
  if (bare_v6 || text.find(':') == std::string_view::npos)
    return parse_numeric(std::string(text), 0);
  const HostPort split = GYRE_TRY(parse_host_port(text));
  return parse_numeric(split.host, split.port);
}

Result<Address> Address::from_wire(const WireAddress& wire) {
  if (wire.family == 4) {
    std::array<std::uint8_t, 4> four;
    std::copy_n(wire.bytes.begin(), 4, four.begin());
    return v4(four, ntohs(wire.port));
  }
  if (wire.family == 6) return v6(wire.bytes, ntohs(wire.port), wire.scope);
  return error(Code::invalid_argument, "address family {} is neither 4 nor 6", wire.family);
}

WireAddress Address::to_wire() const {
  WireAddress out;
  out.port = htons(port());
  if (family() == AF_INET) {
    out.family = 4;
    const auto raw = view_as<sockaddr_in>(storage_);
    std::memcpy(out.bytes.data(), &raw.sin_addr, 4);
  } else if (family() == AF_INET6) {
    out.family = 6;
    const auto raw = view_as<sockaddr_in6>(storage_);
    out.scope = raw.sin6_scope_id;
    std::memcpy(out.bytes.data(), &raw.sin6_addr, 16);
  }
  return out;
}

bool Address::is_loopback() const {
  if (family() == AF_INET) return to_wire().bytes[0] == 127;
  const auto raw = view_as<sockaddr_in6>(storage_);
  return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&raw.sin6_addr);
}

bool Address::is_link_local() const {
  const auto bytes = to_wire().bytes;
  if (family() == AF_INET) return bytes[0] == 169 && bytes[1] == 254;
  return family() == AF_INET6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

bool Address::is_any() const {
  const auto bytes = to_wire().bytes;
  return is_ip() && std::all_of(bytes.begin(), bytes.end(), [](auto b) { return b == 0; });
}

std::uint16_t Address::port() const {
  if (family() == AF_INET) return ntohs(view_as<sockaddr_in>(storage_).sin_port);
  if (family() == AF_INET6) return ntohs(view_as<sockaddr_in6>(storage_).sin6_port);
  return 0;
}

std::uint32_t Address::scope() const {
  return family() == AF_INET6 ? view_as<sockaddr_in6>(storage_).sin6_scope_id : 0;
}

Address Address::with_port(std::uint16_t port) const {
  Address out = *this;
  if (family() == AF_INET) reinterpret_cast<sockaddr_in*>(&out.storage_)->sin_port = htons(port);
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6*>(&out.storage_)->sin6_port = htons(port);
  return out;
}

Address Address::with_scope(std::uint32_t scope) const {
  Address out = *this;
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6*>(&out.storage_)->sin6_scope_id = scope;
  return out;
}

bool Address::same_host(const Address& other) const {
  return is_ip() && family() == other.family() && to_wire().bytes == other.to_wire().bytes;
}

bool Address::operator==(const Address& other) const {
  return bytes_ == other.bytes_ && std::memcmp(&storage_, &other.storage_, bytes_) == 0;
}

std::string Address::host_text() const {
  if (is_unix()) return "this host";
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    const auto raw = view_as<sockaddr_in>(storage_);
    inet_ntop(AF_INET, &raw.sin_addr, text, sizeof text);
  } else if (family() == AF_INET6) {
    const auto raw = view_as<sockaddr_in6>(storage_);
    inet_ntop(AF_INET6, &raw.sin6_addr, text, sizeof text);
    if (raw.sin6_scope_id != 0) {
      char name[IF_NAMESIZE];
      if (if_indextoname(raw.sin6_scope_id, name)) return fmt::format("{}%{}", text, name);
      return fmt::format("{}%{}", text, raw.sin6_scope_id);
    }
  }
  return text;
}

std::string Address::text() const {
  if (family() == AF_INET) return fmt::format("{}:{}", host_text(), port());
  if (family() == AF_INET6) return fmt::format("[{}]:{}", host_text(), port());
  if (family() != AF_UNIX) return "no address";
  const auto raw = view_as<sockaddr_un>(storage_);
  const std::size_t head = offsetof(sockaddr_un, sun_path) + 1;
  if (bytes_ <= head) return "unix socket";  // the calling side of a unix socket has no name
  return fmt::format("unix {}", std::string_view(raw.sun_path + 1, bytes_ - head));
}

const char* family_text(int family) { return family == AF_INET6 ? "IPv6" : "IPv4"; }

Result<HostPort> parse_host_port(std::string_view text) {
  std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  if (!text.empty() && text[0] == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos || close + 1 >= text.size() || text[close + 1] != ':')
      return error(Code::invalid_usage, "'{}' is not [address]:port", text);
    host = text.substr(1, close - 1);
    colon = close + 1;
  }
  if (colon == std::string_view::npos || host.empty() || host.find('/') != std::string_view::npos)
    return error(Code::invalid_usage, "'{}' is not host:port", text);
  HostPort out;
  out.host = host;
  out.port = GYRE_TRY(parse_port(text.substr(colon + 1)));
  return out;
}

Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port) {
  if (auto numeric = parse_numeric(host, port)) return std::vector<Address>{*numeric};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int problem = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (problem != 0)
    return error(Code::system, "host name '{}' does not resolve: {}", host, gai_strerror(problem));
  std::vector<Address> out;
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    const Address found = Address::from_sockaddr(entry->ai_addr, entry->ai_addrlen).with_port(port);
    if (found.is_ip() && std::find(out.begin(), out.end(), found) == out.end())
      out.push_back(found);
  }
  freeaddrinfo(list);
  if (out.empty()) return error(Code::system, "host name '{}' has no IP address", host);
  return out;
}

}  // namespace gyre
