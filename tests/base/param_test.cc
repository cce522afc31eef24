#include "base/param.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

GYRE_PARAM(test_slot_bytes, Bytes, 4096, "for this test alone");

TEST(Units, sizes_are_binary_and_complete) {
  EXPECT_EQ(*parse_bytes("8"), 8u);
  EXPECT_EQ(*parse_bytes("512K"), 512u << 10);
  EXPECT_EQ(*parse_bytes("1.5G"), 3u << 29);
  for (const char* bad : {"", "K", "-1", "12Q", "1e3", "99999999T", "nan", "0x10"})
    EXPECT_FALSE(parse_bytes(bad)) << bad;
}

TEST(Units, durations_have_units) {
  EXPECT_EQ(*parse_duration("250ms"), 250_ms);
  EXPECT_EQ(*parse_duration("2m"), 120_s);
  EXPECT_EQ(*parse_duration("3"), 3_s);
  EXPECT_FALSE(parse_duration("3 parsecs"));
}

TEST(Param, malformed_value_is_refused_by_name) {
  setenv("GYRE_TEST_SLOT_BYTES", "lots", 1);
  const Status status = param_test_slot_bytes.check();
  unsetenv("GYRE_TEST_SLOT_BYTES");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().text.find("GYRE_TEST_SLOT_BYTES='lots'"), std::string::npos);
  EXPECT_EQ(param_test_slot_bytes.get().count, 4096u);
}

TEST(Param, typing_slip_finds_the_nearest_name) {
  EXPECT_EQ(nearest_param("GYRE_TEST_SLOT_BYTSE"), "GYRE_TEST_SLOT_BYTES");
  EXPECT_EQ(nearest_param("GYRE_SOMETHING_ELSE_ENTIRELY"), "");
}

TEST(Error, gains_context_on_its_way_up) {
  auto inner = []() -> Status { return error(Code::system, "connect to rank {}", 7).because(111); };
  auto outer = [&]() -> Status {
    GYRE_TRY_WHILE(inner(), "opening channel {}", 3);
    return {};
  };
  const Status status = outer();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().text, "connect to rank 7: Connection refused, while opening channel 3");
}

}  // namespace
}  // namespace gyre
