#include "transport/interfaces.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

// "eth0 10.0.0.1/24", with flags after it: down, veth, bridge, lo.
InterfaceAddress interface(const std::string& name, const std::string& cidr,
                           const std::string& flags = "") {
  InterfaceAddress out;
  out.name = name;
  out.up = flags.find("down") == std::string::npos;
  if (flags.find("veth") != std::string::npos) out.kind = InterfaceKind::tunnel;
  if (flags.find("bridge") != std::string::npos) out.kind = InterfaceKind::bridge;
  if (flags.find("lo") != std::string::npos) out.kind = InterfaceKind::loopback;
  const std::size_t slash = cidr.find('/');
  if (slash == std::string::npos) return out;
  out.address = *Address::parse(cidr.substr(0, slash));
  out.prefix_bits = std::stoi(cidr.substr(slash + 1));
  return out;
}

const InterfaceAddress kLo = interface("lo", "127.0.0.1/8", "lo");
const InterfaceAddress kLo6 = interface("lo", "::1/128", "lo");
const InterfaceAddress kEth = interface("eth0", "10.0.0.1/24");
const InterfaceAddress kEth6 = interface("eth0", "fd00::1/64");
const InterfaceAddress kVeth = interface("veth0", "10.1.0.1/24", "veth");
const InterfaceAddress kDocker = interface("docker0", "172.17.0.1/16", "bridge");
const InterfaceAddress kLink = interface("eth1", "169.254.3.1/16");
const InterfaceAddress kDown = interface("eth2", "10.2.0.1/24", "down");
const InterfaceAddress kBare = interface("eth3", "");

RootView root_at(const std::string& root, const std::string& source) {
  return {*Address::parse(root), *Address::parse(source)};
}

struct Case {
  const char* what;
  std::vector<InterfaceAddress> all;
  RootView view;
  const char* best;
};

TEST(Interfaces, the_best_address_is_chosen) {
  const Case cases[] = {
      {"route beats order",
       {kDocker, kLink, kVeth, kEth},
       root_at("10.0.0.9", "10.0.0.1"),
       "10.0.0.1"},
      {"route through a bridge is a route",
       {kEth, kDocker},
       root_at("172.17.0.9", "172.17.0.1"),
       "172.17.0.1"},
      {"subnet where the route's source is none of ours",
       {kEth, kVeth},
       root_at("10.1.0.9", "10.9.9.9"),
       "10.1.0.1"},
      {"device before veth before bridge before link-local",
       {kLink, kDocker, kVeth, kEth},
       {},
       "10.0.0.1"},
      {"veth before bridge", {kLink, kDocker, kVeth}, {}, "10.1.0.1"},
      {"bridge before link-local", {kLink, kDocker}, {}, "172.17.0.1"},
      {"link-local before loopback", {kLo, kLink}, {}, "169.254.3.1"},
      {"loopback where nothing else is", {kLo, kDown, kBare}, {}, "127.0.0.1"},
      {"loopback when the root is there",
       {kEth, kLo},
       root_at("127.0.0.1", "127.0.0.1"),
       "127.0.0.1"},
      {"root's family", {kEth, kEth6}, root_at("fd00::9", "fd00::1"), "fd00::1"},
      {"down and bare never", {kDown, kBare, kVeth}, root_at("10.2.0.9", "10.2.0.1"), "10.1.0.1"},
      {"IPv6 loopback", {kLo, kLo6, kEth6}, root_at("::1", "::1"), "::1"},
  };
  for (const Case& one : cases) {
    const auto ranking = rank_interfaces(one.all, InterfaceFilter{}, one.view);
    ASSERT_TRUE(ranking) << one.what << ": " << ranking.error().text;
    EXPECT_EQ(ranking->usable[0].address.host_text(), one.best) << one.what;
    EXPECT_EQ(ranking->refused.size(), one.all.size() - 1) << one.what;
  }
}

TEST(Interfaces, lists_choose_by_prefix_by_name_and_by_exclusion) {
  const std::vector<InterfaceAddress> all{kLo, kEth, kVeth, kDocker};
  const auto best = [&](const char* list) {
    const auto filter = parse_interface_filter(list, "");
    EXPECT_TRUE(filter) << list;
    const auto ranking = rank_interfaces(all, *filter, RootView{});
    return ranking ? ranking->usable[0].name : ranking.error().text;
  };
  EXPECT_EQ(best("veth"), "veth0");
  EXPECT_EQ(best("docker,veth"), "veth0");
  EXPECT_EQ(best("=docker0"), "docker0");
  EXPECT_EQ(best("^eth"), "veth0");
  EXPECT_EQ(best("^eth,veth,docker"), "lo");
  EXPECT_EQ(best("lo"), "lo");
  EXPECT_NE(best("=docker").find("lo"), std::string::npos) << "exact means exact";
}

TEST(Interfaces, list_that_matches_nothing_names_variable_value_and_what_exists) {
  const auto ranking =
      rank_interfaces(std::vector{kLo, kEth, kDocker}, *parse_interface_filter("nosuch0", ""), {});
  ASSERT_FALSE(ranking);
  EXPECT_EQ(ranking.error().code, Code::invalid_usage);
  EXPECT_EQ(ranking.error().text,
            "GYRE_SOCKET_IFNAME='nosuch0' matches no interface; this host has: docker0, eth0, lo");
}

TEST(Interfaces, malformed_lists_are_refused) {
  for (const char* bad : {"^", "=", ",", "eth0,", ",eth0", "eth 0", "^^eth0", "=eth0,=eth1", "a/b",
                          "a-name-longer-than-any-interface"}) {
    const auto filter = parse_interface_filter(bad, "");
    ASSERT_FALSE(filter) << bad;
    EXPECT_NE(filter.error().text.find("GYRE_SOCKET_IFNAME"), std::string::npos);
  }
  EXPECT_FALSE(parse_interface_filter("", "5"));
  EXPECT_EQ(parse_interface_filter("", "AF_INET6")->family, AF_INET6);
}

TEST(Interfaces, missing_family_names_the_root_and_the_family) {
  const auto ranking = rank_interfaces(std::vector{kLo, kEth}, {}, root_at("fd00::9", "fd00::1"));
  ASSERT_FALSE(ranking);
  EXPECT_NE(
      ranking.error().text.find("[fd00::9]:0 is IPv6, and this host has no usable IPv6 address"),
      std::string::npos)
      << ranking.error().text;
}

TEST(Interfaces, interface_without_an_address_says_so) {
  const auto ranking =
      rank_interfaces(std::vector{kLo, kEth, kBare}, *parse_interface_filter("eth3", ""), {});
  ASSERT_FALSE(ranking);
  EXPECT_NE(ranking.error().text.find("eth3  has no address"), std::string::npos)
      << ranking.error().text;
}

TEST(Interfaces, this_host_has_loopback) {
  const auto all = read_interfaces();
  ASSERT_TRUE(all);
  EXPECT_TRUE(std::any_of(all->begin(), all->end(), [](const InterfaceAddress& one) {
    return one.kind == InterfaceKind::loopback && one.address.is_loopback() && one.up;
  }));
  EXPECT_EQ(route_source(*Address::parse("127.0.0.1:1"))->host_text(), "127.0.0.1");
}

}  // namespace
}  // namespace gyre
