#include "transport/address.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

TEST(Address, text_reads_back_as_the_same_address) {
  for (const char* text :
       {"10.0.0.7:4021", "127.0.0.1:1", "[fd00::1]:65535", "[::1]:80", "0.0.0.0:0"}) {
    const auto address = Address::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), text);
    const auto again = Address::from_wire(address->to_wire());
    ASSERT_TRUE(again);
    EXPECT_TRUE(*again == *address) << text;
  }
}

TEST(Address, scope_is_a_name_or_an_index) {
  const auto named = Address::parse("[fe80::1%lo]:5");
  ASSERT_TRUE(named) << named.error().text;
  EXPECT_EQ(named->text(), "[fe80::1%lo]:5");
  EXPECT_EQ(named->scope(), 1u);
  EXPECT_TRUE(named->is_link_local());
  EXPECT_EQ(Address::parse("fe80::1%77")->scope(), 77u);
  EXPECT_FALSE(Address::parse("fe80::1%nosuch0"));
}

TEST(Address, nonsense_is_refused) {
  for (const char* text :
       {"", ":", "10.0.0.7:", "10.0.0.7:65536", "10.0.0.7:-1", "10.0.0.7:8x", "10.0.0:1",
        "[fd00::1]", "[fd00::1", "[fd00::1]4", "host:80", "fd00::1::2", "http://1.2.3.4:5"})
    EXPECT_FALSE(Address::parse(text)) << text;
  EXPECT_FALSE(Address::from_wire(WireAddress{}));
  EXPECT_FALSE(Address::from_wire(WireAddress{.family = 5}));
}

TEST(Address, kinds_are_told_apart) {
  EXPECT_TRUE(Address::parse("127.3.4.5")->is_loopback());
  EXPECT_TRUE(Address::parse("::1")->is_loopback());
  EXPECT_FALSE(Address::parse("128.0.0.1")->is_loopback());
  EXPECT_TRUE(Address::parse("169.254.3.1")->is_link_local());
  EXPECT_FALSE(Address::parse("169.253.3.1")->is_link_local());
  EXPECT_TRUE(Address::parse("febf::1")->is_link_local());
  EXPECT_FALSE(Address::parse("fec0::1")->is_link_local());
  EXPECT_TRUE(Address::parse("::")->is_any());
}

TEST(Address, host_and_port_split) {
  EXPECT_EQ(parse_host_port("node7:99")->host, "node7");
  EXPECT_EQ(parse_host_port("[fd00::1]:99")->host, "fd00::1");
  EXPECT_EQ(parse_host_port("node7:99")->port, 99);
  for (const char* text : {"node7", "node7:", ":99", "tcp://node7:99", "node7:1e3"})
    EXPECT_FALSE(parse_host_port(text)) << text;
}

TEST(Address, names_resolve_and_unknown_ones_say_so) {
  const auto local = resolve("localhost", 7);
  ASSERT_TRUE(local) << local.error().text;
  for (const Address& one : *local) EXPECT_TRUE(one.is_loopback() && one.port() == 7) << one.text();
  const auto unknown = resolve("no-such-host.invalid", 7);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text.find("no-such-host.invalid"), std::string::npos);
}

}  // namespace
}  // namespace gyre
