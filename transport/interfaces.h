// Which local address a rank should listen on. Knows the host's interfaces, the user's lists and
// one ranking, a pure function. Does not open listeners.
//
// Rule, best first: on the kernel's route to the root; in the root's subnet; a device; veth or tun;
// a bridge (docker*, virbr*, br-*); link-local. Loopback counts only where nothing else is, or
// where the root itself is on this host's loopback. Down or without an address never counts.
#pragma once

#include "base/result.h"
#include "transport/address.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

enum class InterfaceKind : std::uint8_t { device, tunnel, bridge, loopback };

// One address of one interface; an interface without any has one record with an empty address.
struct InterfaceAddress {
  std::string name;
  Address address;  // port 0
  int prefix_bits = 0;
  bool up = false;
  InterfaceKind kind = InterfaceKind::device;
};

struct InterfaceFilter {
  enum class Mode { all, prefix, exclude, exact };
  Mode mode = Mode::all;
  std::vector<std::string> names;
  int family = AF_UNSPEC;
  std::string text;  // as the user wrote it, for errors

  bool allows(std::string_view name) const;
};

// "eth,ib" (prefixes), "=eth0,eth1" (exact), "^docker,lo" (all but these prefixes); family "", "4",
// "6", "IPv4", "IPv6", "AF_INET", "AF_INET6". Fails: invalid-usage naming the variable.
Result<InterfaceFilter> parse_interface_filter(std::string_view names, std::string_view family);
// From GYRE_SOCKET_IFNAME and GYRE_SOCKET_FAMILY.
Result<InterfaceFilter> interface_filter();

// What rank_interfaces knows about the root; empty addresses when there is none yet.
struct RootView {
  Address root;
  Address route_source;  // the address from which this host would send to it
};

struct Ranking {
  std::vector<InterfaceAddress> usable;  // best first
  std::vector<std::string> refused;      // "docker0 172.17.0.1 is a bridge"
};

// Pure. Fails: invalid-usage when the filter matches nothing (lists what exists); system when no
// address is left (family and root named).
Result<Ranking> rank_interfaces(std::span<const InterfaceAddress> all,
                                const InterfaceFilter& filter, const RootView& view);

// This host's interfaces in this network namespace.
Result<std::vector<InterfaceAddress>> read_interfaces();
// The source address the kernel would take towards `remote`. Fails: system when there is no route.
Result<Address> route_source(const Address& remote);

// The address to listen on in a job whose root was reached at `root`; one info line says why.
Result<Address> choose_local_address(const Address& root);
// Addresses for a root that has no peer to ask yet: the best `count_max`, one for each interface
// and family first.
Result<std::vector<Address>> advertised_addresses(std::size_t count_max);

// `remote` once for each interface it may be meant for: an IPv6 link-local address of another host
// says nothing about our interfaces. Others come back as they are.
std::vector<Address> with_local_scopes(const Address& remote);

}  // namespace gyre
