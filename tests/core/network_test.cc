// Meetings on networks of all shapes. Ranks are threads, each in the namespace of its host.
#include "core/join_ranks.h"
#include "core/launcher.h"
#include "harness/namespace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gyre {
namespace {

using harness::Namespace;

class Networks : public testing::Test {
 protected:
  void SetUp() override {
    if (!a_ || !b_) GTEST_SKIP() << "network namespaces need root";
    // Else a fresh IPv6 address is unusable for a second or two.
    for (const Namespace* host : {&a_, &b_})
      ASSERT_TRUE(
          host->run("echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad && "
                    "echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad"));
  }

  // Makes the id on the first rank's host; each rank joins, connects to all, and gives its card's
  // address.
  std::vector<std::string> addresses_of(const std::vector<const Namespace*>& hosts) {
    const int size = static_cast<int>(hosts.size());
    std::vector<std::string> out(hosts.size());
    Result<JobId> id = error(Code::internal, "not made");
    std::thread([&] {
      hosts[0]->enter();
      id = start_job();
    }).join();
    if (!id) return {id.error().text};
    const std::atomic<bool> never{false};
    const auto ends = as_ranks(size, [&](int rank) -> Status {
      hosts[static_cast<std::size_t>(rank)]->enter();
      Bootstrap boot = GYRE_TRY(Bootstrap::join(options_for({*id}, rank, size, 10_s)));
      const PeerCard mine = boot.doorway()->card();
      out[static_cast<std::size_t>(rank)] = Address::from_wire(mine.tcp)->host_text();
      const auto cards = GYRE_TRY(boot.all_gather("cards", std::as_bytes(std::span(&mine, 1))));
      std::vector<Peer> peers;
      for (int other = 0; other < size; ++other)
        if (other != rank)
          peers.push_back({other, GYRE_TRY(unpack_card(cards[static_cast<std::size_t>(other)]))});
      GYRE_TRY(boot.doorway()->connect({.comm = 5, .rank = rank}, peers, deadline_in(10_s), never));
      return boot.barrier("connected");
    });
    for (const Status& end : ends)
      if (!end) out.push_back(text_of(end));
    return out;
  }

  Namespace a_, b_;
};

using Texts = std::vector<std::string>;

TEST_F(Networks, loopback_alone_is_enough) {
  EXPECT_EQ(addresses_of({&a_, &a_, &a_, &a_}), Texts(4, "127.0.0.1"));
}

TEST_F(Networks, twenty_more_interfaces_do_not_matter_on_one_host) {
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(connect(a_, "v" + std::to_string(i), b_, "w" + std::to_string(i)));
  ASSERT_TRUE(a_.run("ip addr add 169.254.7.7/16 dev v3"));
  const Texts found = addresses_of({&a_, &a_, &a_, &a_});
  EXPECT_EQ(found.size(), 4u) << found.back();
}

TEST_F(Networks, decoys_are_passed_over_for_the_link_to_the_peer) {
  Namespace elsewhere;
  // Everything that must not be taken comes first, and both hosts have the same bridge address.
  for (const Namespace* host : {&a_, &b_}) {
    ASSERT_TRUE(
        host->run("ip link add docker0 type bridge && ip link set docker0 up && "
                  "ip addr add 172.17.0.1/16 dev docker0"));
    ASSERT_TRUE(connect(*host, "veth0", elsewhere, host == &a_ ? "x" : "y"));
  }
  ASSERT_TRUE(a_.run("ip addr add 169.254.3.1/16 dev veth0"));
  ASSERT_TRUE(b_.run("ip addr add 169.254.3.2/16 dev veth0"));
  ASSERT_TRUE(connect(a_, "veth9", b_, "veth9"));
  ASSERT_TRUE(a_.run("ip addr add 10.0.0.1/24 dev veth9"));
  ASSERT_TRUE(b_.run("ip addr add 10.0.0.2/24 dev veth9"));
  EXPECT_EQ(addresses_of({&a_, &b_, &a_, &b_}),
            (Texts{"10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.2"}));
}

TEST_F(Networks, ipv6_alone_works) {
  ASSERT_TRUE(connect(a_, "eth", b_, "eth"));
  ASSERT_TRUE(a_.run("ip addr del 127.0.0.1/8 dev lo; ip addr add fd00::1/64 dev eth nodad"));
  ASSERT_TRUE(b_.run("ip addr del 127.0.0.1/8 dev lo; ip addr add fd00::2/64 dev eth nodad"));
  EXPECT_EQ(addresses_of({&a_, &b_}), (Texts{"fd00::1", "fd00::2"}));
}

TEST_F(Networks, ipv6_link_local_alone_works_though_scopes_differ) {
  // One interface more on one side, so that the same link has different numbers.
  ASSERT_TRUE(a_.run("ip link add spare type bridge"));
  ASSERT_TRUE(connect(a_, "eth", b_, "eth"));
  for (const Namespace* host : {&a_, &b_})
    ASSERT_TRUE(host->eventually("ip -6 addr show dev eth | grep -q fe80"));
  const Texts found = addresses_of({&a_, &b_, &a_});
  ASSERT_EQ(found.size(), 3u) << fmt::format("{}", fmt::join(found, "\n"));
  for (const std::string& one : found) EXPECT_EQ(one.rfind("fe80::", 0), 0u) << one;
}

TEST_F(Networks, ipv6_switched_off_works) {
  for (const Namespace* host : {&a_, &b_})
    ASSERT_TRUE(host->run("echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6"));
  EXPECT_EQ(addresses_of({&a_, &a_}), Texts(2, "127.0.0.1"));
  ASSERT_TRUE(connect(a_, "eth", b_, "eth"));
  ASSERT_TRUE(a_.run("ip addr add 10.0.0.1/24 dev eth"));
  ASSERT_TRUE(b_.run("ip addr add 10.0.0.2/24 dev eth"));
  EXPECT_EQ(addresses_of({&a_, &b_}), (Texts{"10.0.0.1", "10.0.0.2"}));
}

TEST_F(Networks, a_family_that_this_host_lacks_is_named_at_once) {
  ASSERT_TRUE(a_.run("echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6"));
  JobId id;
  id.secret = random_secret();
  id.roots = {*Address::parse("[fd00::1]:4021")};
  Status end;
  std::thread([&] {
    a_.enter();
    if (auto boot = Bootstrap::join(options_for({id}, 1, 2, 0)); !boot) end = boot.take_error();
  }).join();
  EXPECT_NE(
      text_of(end).find("root address [fd00::1]:4021 is IPv6, and this host has no usable IPv6"),
      std::string::npos)
      << text_of(end);
}

// The usual hosts file of a distribution, and the reason why names must not choose the address.
TEST_F(Networks, a_host_name_that_means_loopback_at_home_is_not_advertised) {
  ASSERT_TRUE(connect(a_, "eth", b_, "eth"));
  ASSERT_TRUE(a_.run("ip addr add 10.0.0.1/24 dev eth"));
  ASSERT_TRUE(b_.run("ip addr add 10.0.0.2/24 dev eth"));
  std::vector<std::string> found(4);
  const auto ends = as_ranks(4, [&](int rank) -> Status {
    (rank < 2 ? a_ : b_).enter();
    Launch launch;
    launch.rank = rank;
    launch.size = 4;
    launch.meet_by = MeetBy::fixed_address;
    launch.root_host = rank < 2 ? "localhost" : "10.0.0.1";
    launch.root_port = 4999;
    launch.secret_text = "loopback at home";
    Invitation invitation = GYRE_TRY(meet(launch, deadline_in(10_s)));
    Bootstrap boot = GYRE_TRY(Bootstrap::join(options_for({invitation.id}, rank, 4, 10_s)));
    found[static_cast<std::size_t>(rank)] =
        Address::from_wire(boot.doorway()->card().tcp)->host_text();
    return boot.barrier("met");
  });
  for (const Status& end : ends) EXPECT_TRUE(end) << text_of(end);
  EXPECT_EQ(found, (Texts{"10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2"}));
}

}  // namespace
}  // namespace gyre
