#include "transport/interfaces.h"

#include "base/log.h"
#include "base/param.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace gyre {

GYRE_PARAM(socket_ifname, std::string, "",
           "interfaces to use: eth,ib by prefix; =eth0 exactly; ^docker,veth all but these");
GYRE_PARAM(socket_family, std::string, "", "address family to use: 4 or 6; empty: either");

namespace {

bool in_subnet(const InterfaceAddress& mine, const Address& other) {
  if (mine.address.family() != other.family()) return false;
  const auto a = mine.address.to_wire().bytes, b = other.to_wire().bytes;
  for (int bit = 0; bit < mine.prefix_bits; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    if ((a[byte] ^ b[byte]) & (0x80 >> (bit % 8))) return false;
  }
  return true;
}

// Smaller is better. `all` keeps the kernel's order among equals.
auto rank_of(const InterfaceAddress& one, const RootView& view) {
  const bool known = view.root.is_ip();
  return std::tuple(known && one.address.same_host(view.route_source) ? 0 : 1,
                    known && in_subnet(one, view.root) ? 0 : 1,
                    one.kind == InterfaceKind::loopback ? 1 : 0,
                    one.address.is_link_local() ? 1 : 0, static_cast<int>(one.kind));
}

// Empty when usable.
std::string reason_against(const InterfaceAddress& one, const InterfaceFilter& filter,
                           const RootView& view) {
  const int family = view.root.is_ip() ? view.root.family() : filter.family;
  if (!filter.allows(one.name)) return "not in GYRE_SOCKET_IFNAME";
  if (!one.up) return "is down";
  if (!one.address.is_ip()) return "has no address";
  if (filter.family != AF_UNSPEC && one.address.family() != filter.family)
    return fmt::format("is {}", family_text(one.address.family()));
  if (family != AF_UNSPEC && one.address.family() != family)
    return fmt::format("is {}, the root {}", family_text(one.address.family()),
                       family_text(family));
  if (view.root.is_loopback() && one.kind != InterfaceKind::loopback) return "root is on loopback";
  return {};
}

const char* weakness(const InterfaceAddress& one) {
  if (one.address.is_link_local()) return "link-local";
  switch (one.kind) {
    case InterfaceKind::device:
      return "a device";
    case InterfaceKind::tunnel:
      return "virtual";
    case InterfaceKind::bridge:
      return "a bridge";
    case InterfaceKind::loopback:
      return "loopback";
  }
  return "";
}

std::string name_list(std::span<const InterfaceAddress> all) {
  std::set<std::string> names;
  for (const auto& one : all) names.insert(one.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

bool InterfaceFilter::allows(std::string_view name) const {
  if (mode == Mode::all) return true;
  const bool listed = std::any_of(names.begin(), names.end(), [&](const std::string& one) {
    return mode == Mode::exact ? name == one : name.substr(0, one.size()) == one;
  });
  return listed != (mode == Mode::exclude);
}

Result<InterfaceFilter> parse_interface_filter(std::string_view names, std::string_view family) {
  InterfaceFilter out;
  out.text = names;
  if (!names.empty()) {
    out.mode = InterfaceFilter::Mode::prefix;
    if (names[0] == '^') out.mode = InterfaceFilter::Mode::exclude;
    if (names[0] == '=') out.mode = InterfaceFilter::Mode::exact;
    if (out.mode != InterfaceFilter::Mode::prefix) names.remove_prefix(1);
    for (bool more = true; more;) {
      const std::size_t comma = names.find(',');
      const std::string_view one = names.substr(0, comma);
      const bool odd = std::any_of(one.begin(), one.end(), [](unsigned char c) {
        return c <= ' ' || c == '^' || c == '=' || c == '/' || c >= 127;
      });
      if (one.empty() || odd || one.size() > 15)
        return error(
            Code::invalid_usage,
            "GYRE_SOCKET_IFNAME='{}' is not valid: '{}' is no interface name; expected a,b or "
            "^a,b or =a,b",
            out.text, one);
      out.names.emplace_back(one);
      more = comma != std::string_view::npos;
      if (more) names.remove_prefix(comma + 1);
    }
  }
  if (family == "4" || family == "IPv4" || family == "AF_INET")
    out.family = AF_INET;
  else if (family == "6" || family == "IPv6" || family == "AF_INET6")
    out.family = AF_INET6;
  else if (!family.empty())
    return error(Code::invalid_usage, "GYRE_SOCKET_FAMILY='{}' is not valid: expected 4 or 6",
                 family);
  return out;
}

Result<InterfaceFilter> interface_filter() {
  return parse_interface_filter(param_socket_ifname.get(), param_socket_family.get());
}

Result<Ranking> rank_interfaces(std::span<const InterfaceAddress> all,
                                const InterfaceFilter& filter, const RootView& view) {
  Ranking out;
  bool matched = false;
  for (const auto& one : all) {
    matched = matched || filter.allows(one.name);
    const std::string reason = reason_against(one, filter, view);
    if (reason.empty())
      out.usable.push_back(one);
    else
      out.refused.push_back(fmt::format("{} {} {}", one.name, one.address.host_text(), reason));
  }
  if (!matched)
    return error(Code::invalid_usage,
                 "GYRE_SOCKET_IFNAME='{}' matches no interface; this host has: {}", filter.text,
                 name_list(all));
  if (out.usable.empty() && view.root.is_ip())
    return error(Code::system, "root address {} is {}, and this host has no usable {} address ({})",
                 view.root.text(), family_text(view.root.family()), family_text(view.root.family()),
                 fmt::join(out.refused, "; "));
  if (out.usable.empty())
    return error(Code::system, "no interface is usable: {}", fmt::join(out.refused, "; "));
  std::stable_sort(out.usable.begin(), out.usable.end(), [&](const auto& a, const auto& b) {
    return rank_of(a, view) < rank_of(b, view);
  });
  for (std::size_t i = 1; i < out.usable.size(); ++i) {
    const auto& one = out.usable[i];
    const bool same = rank_of(one, view) == rank_of(out.usable[0], view);
    out.refused.push_back(fmt::format(
        "{} {} {}", one.name, one.address.host_text(),
        same ? "comes later"
             : std::string("ranks lower: ") +
                   (view.root.is_ip() ? "not on the route to the root, " : "") + weakness(one)));
  }
  return out;
}

Result<Address> choose_local_address(const Address& root) {
  const auto all = GYRE_TRY(read_interfaces());
  const auto filter = GYRE_TRY(interface_filter());
  RootView view{root, {}};
  if (auto source = route_source(root)) view.route_source = *source;
  const Ranking ranking = GYRE_TRY(rank_interfaces(all, filter, view));
  const InterfaceAddress& best = ranking.usable[0];
  GYRE_LOG(info, "chose interface {} address {} towards root {}; not: {}", best.name,
           best.address.host_text(), root.text(), fmt::join(ranking.refused, "; "));
  return best.address;
}

Result<std::vector<Address>> advertised_addresses(std::size_t count_max) {
  const auto all = GYRE_TRY(read_interfaces());
  const auto filter = GYRE_TRY(interface_filter());
  Ranking ranking = GYRE_TRY(rank_interfaces(all, filter, RootView{}));
  // Loopback is for hosts that have nothing else: a rank elsewhere would call itself.
  if (ranking.usable[0].kind != InterfaceKind::loopback)
    std::erase_if(ranking.usable, [](auto& one) { return one.kind == InterfaceKind::loopback; });
  // Second addresses of an interface add little: they come after every first one.
  std::set<std::pair<std::string, int>> seen;
  std::vector<Address> first, second;
  for (const auto& one : ranking.usable)
    (seen.emplace(one.name, one.address.family()).second ? first : second).push_back(one.address);
  first.insert(first.end(), second.begin(), second.end());
  if (first.size() > count_max) first.resize(count_max);
  return first;
}

}  // namespace gyre
