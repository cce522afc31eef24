#include "tidy/tree.h"

#include <algorithm>
#include <fstream>

namespace tidy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolders[] = {"include",  "src",   "transport", "collectives",
                                    "topology", "tests", "bench",     "frameworks"};

bool is_source(const fs::path& path) {
  const std::string ending = path.extension().string();
  return ending == ".h" || ending == ".hpp" || ending == ".cc" || ending == ".c" || ending == ".cu";
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<Source> read_all() {
  const fs::path root = GYRE_SOURCE_ROOT;
  std::vector<Source> all;
  for (const char* folder : kFolders) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file() && is_source(entry.path()))
        all.push_back({fs::relative(entry.path(), root).string(), lines_of(entry.path())});
  }
  std::sort(all.begin(), all.end(),
            [](const Source& a, const Source& b) { return a.path < b.path; });
  return all;
}

std::size_t indent_of(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == std::string::npos ? 0 : first;
}

// Whether the statement that ends in '{' on this line begins a function's body. A signature may
// take several lines: the ones before it, back to the end of another statement, belong to it.
bool opens_function(const std::vector<std::string>& lines, std::size_t at, std::size_t& start) {
  const std::string& last = lines[at];
  if (last.empty() || last.back() != '{') return false;
  start = at;
  const auto ends_statement = [](const std::string& line) {
    return line.empty() || line.ends_with("*/") ||
           line.find_first_of(";{}:#", line.size() - 1) != std::string::npos ||
           line.find("//") != std::string::npos || line[0] == '#';
  };
  while (start > 0 && !ends_statement(lines[start - 1])) --start;
  std::string text;
  for (std::size_t i = start; i <= at; ++i) text += lines[i].substr(indent_of(lines[i])) + ' ';
  for (const char* other :
       {"namespace", "typedef ", "class ", "struct ", "enum ", "union ", "extern ", "if ", "for ",
        "while ", "switch ", "do ", "else", "} ", "return "})
    if (text.starts_with(other)) return false;
  return text.find('(') != std::string::npos && text.find(") = {") == std::string::npos &&
         text.find("= {") == std::string::npos;
}

}  // namespace

const std::vector<Source>& sources() {
  static const std::vector<Source> kAll = read_all();
  return kAll;
}

Length longest_function(const std::vector<std::string>& lines) {
  Length longest;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    std::size_t start = 0;
    if (!opens_function(lines, at, start)) continue;
    const std::string closing = std::string(indent_of(lines[start]), ' ') + "}";
    std::size_t end = at + 1;
    while (end < lines.size() && !lines[end].starts_with(closing)) ++end;
    if (end - start + 1 > longest.lines) longest = {end - start + 1, start + 1};
    at = end;
  }
  return longest;
}

std::vector<std::string> own_includes(const Source& source) {
  std::vector<std::string> paths;
  for (const std::string& line : source.lines) {
    if (!line.starts_with("#include \"")) continue;
    const std::size_t end = line.find('"', 10);
    if (end != std::string::npos) paths.push_back(line.substr(10, end - 10));
  }
  return paths;
}

}  // namespace tidy
