#include "core/job_id.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

JobId sample() {
  JobId id;
  id.secret = random_secret();
  id.roots = {*Address::parse("10.0.0.7:4021"), *Address::parse("[fd00::1]:4022"),
              *Address::parse("[fe80::1%1]:9"), *Address::parse("127.0.0.1:65535")};
  return id;
}

TEST(JobId, survives_bytes_and_text) {
  const JobId id = sample();
  for (const auto& back : {unpack_job_id(pack(id)), parse_job_id(job_id_text(id))}) {
    ASSERT_TRUE(back) << back.error().text;
    EXPECT_EQ(back->secret, id.secret);
    EXPECT_TRUE(back->roots == id.roots);
    EXPECT_EQ(back->key(), id.key());
  }
  EXPECT_EQ(job_id_text(id).size(), 171u);
}

TEST(JobId, any_changed_byte_is_noticed) {
  const auto bytes = pack(sample());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{0x10};
    const auto id = unpack_job_id(damaged);
    ASSERT_FALSE(id) << "byte " << i;
    EXPECT_EQ(id.error().code, Code::invalid_argument);
  }
}

TEST(JobId, what_is_wrong_is_said) {
  const auto text_for = [](std::array<std::byte, kJobIdBytes> bytes) {
    return unpack_job_id(bytes).error().text;
  };
  EXPECT_NE(text_for({}).find("all zeros"), std::string::npos);
  auto bytes = pack(sample());
  bytes[4] = std::byte{77};
  EXPECT_NE(text_for(bytes).find("layout version 77, this library reads 1"), std::string::npos);
  bytes = pack(sample());
  bytes[40] ^= std::byte{1};
  EXPECT_NE(text_for(bytes).find("checksum"), std::string::npos);
  bytes.fill(std::byte{'x'});
  EXPECT_NE(text_for(bytes).find("not one of gyre's"), std::string::npos);
  EXPECT_FALSE(parse_job_id(""));
  EXPECT_FALSE(parse_job_id(job_id_text(sample()).substr(1)));
  EXPECT_FALSE(parse_job_id(job_id_text(sample()) + "A"));
}

TEST(JobId, secrets_differ_between_jobs) { EXPECT_NE(sample().secret, sample().secret); }

}  // namespace
}  // namespace gyre
