// Lengths: files short enough to read in one go, functions on one screen, lines within a column.
#include <gtest/gtest.h>

#include <algorithm>

#include "tidy/tree.h"

namespace tidy {
namespace {

constexpr std::size_t kFileLines = 400;
constexpr std::size_t kFunctionLines = 70;
constexpr std::size_t kColumns = 100;

std::size_t columns_of(const std::string& line) {
  // Bytes that continue a UTF-8 character take no column.
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

TEST(Size, files_are_short) {
  for (const Source& source : sources()) {
    // A public header is one file by design: an interface is read as a whole.
    if (source.path.starts_with("include/gyre/")) continue;
    EXPECT_LE(source.lines.size(), kFileLines) << source.path;
  }
}

TEST(Size, functions_fit_on_a_screen) {
  for (const Source& source : sources()) {
    const Length longest = longest_function(source.lines);
    EXPECT_LE(longest.lines, kFunctionLines) << source.path << ":" << longest.first;
  }
}

TEST(Size, lines_keep_to_the_column) {
  for (const Source& source : sources())
    for (std::size_t i = 0; i < source.lines.size(); ++i)
      EXPECT_LE(columns_of(source.lines[i]), kColumns) << source.path << ":" << i + 1;
}

TEST(Size, headers_are_read_once_and_open_with_what_they_know) {
  for (const Source& source : sources()) {
    if (!source.path.ends_with(".h") && !source.path.ends_with(".hpp")) continue;
    ASSERT_FALSE(source.lines.empty()) << source.path;
    EXPECT_TRUE(source.lines[0].starts_with("//") || source.lines[0].starts_with("/*"))
        << source.path;
    // C headers have guards of their own, and Highway reads its -inl files once per target.
    if (source.path.starts_with("include/") || source.path.ends_with("-inl.h")) continue;
    EXPECT_NE(std::find(source.lines.begin(), source.lines.end(), "#pragma once"),
              source.lines.end())
        << source.path;
  }
}

TEST(Size, a_long_function_is_found_and_named_by_its_first_line) {
  std::vector<std::string> lines = {"namespace a {", "",  "int short_one() {",
                                    "  return 1;",   "}", ""};
  lines.push_back("void long_one(int first,");
  lines.push_back("              int second) {");
  for (int i = 0; i < 80; ++i) lines.push_back("  if (first) {}");
  lines.push_back("}");
  lines.push_back("}  // namespace a");
  const Length longest = longest_function(lines);
  EXPECT_EQ(longest.lines, 83u);
  EXPECT_EQ(longest.first, 7u);
}

}  // namespace
}  // namespace tidy
