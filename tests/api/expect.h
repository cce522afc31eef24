// What misuse must answer: a code and a sentence, and the process goes on.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "gyre/gyre.h"

namespace api {

inline std::string last_error() { return gyreGetLastError(nullptr); }

// A call that must fail with `code` and say so in a sentence that contains `part`.
inline void expect_refused(gyreResult_t got, gyreResult_t code, const std::string& part,
                           const char* call) {
  EXPECT_EQ(got, code) << call << ": " << last_error();
  EXPECT_NE(last_error().find(part), std::string::npos) << call << ": " << last_error();
}

}  // namespace api

#define EXPECT_REFUSED(call, code, part) api::expect_refused((call), (code), (part), #call)
#define EXPECT_OK(call) EXPECT_EQ((call), gyreSuccess) << #call << ": " << api::last_error()
#define ASSERT_OK(call) ASSERT_EQ((call), gyreSuccess) << #call << ": " << api::last_error()
