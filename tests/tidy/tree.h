// The source tree as text, for tests that read it. Knows where our files are; nothing of rules.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tidy {

struct Source {
  std::string path;  // from the root: "src/base/result.h"
  std::vector<std::string> lines;
};

// Every C, C++ header and source of ours, sorted by path.
const std::vector<Source>& sources();

// Longest function of a file in lines, and where it starts; by the layout clang-format gives.
struct Length {
  std::size_t lines = 0;
  std::size_t first = 0;
};
Length longest_function(const std::vector<std::string>& lines);

// Paths in #include "..." of a file.
std::vector<std::string> own_includes(const Source& source);

}  // namespace tidy
