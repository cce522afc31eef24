// Who may include whom: the table of floors, checked against every file.
#include <gtest/gtest.h>

#include "tidy/tree.h"

namespace tidy {
namespace {

// A floor's folder and the beginnings of the paths it may include. "" as folder ends the search.
struct Floor {
  std::string folder;
  std::vector<std::string> may_include;
};

// The first folder that fits a path is its floor, so narrow ones stand before wide ones.
const std::vector<Floor>& floors() {
  static const std::vector<Floor> kFloors = {
      {"src/base/", {"base/"}},
      {"src/driver/", {"base/", "driver/"}},
      {"topology/detect", {"base/", "driver/", "topology/"}},
      {"topology/", {"base/", "topology/"}},
      {"transport/", {"base/", "driver/", "transport/", "gyre/transport.h"}},
      {"collectives/", {"base/", "collectives/", "topology/machine.h", "topology/layout.h"}},
      {"src/exec/",
       {"base/", "driver/", "exec/", "collectives/plan.h", "collectives/geometry.h",
        "collectives/algo/", "transport/fifo.h", "transport/link.h", "transport/desk.h",
        "transport/signature.h"}},
      {"src/core/",
       {"base/", "driver/", "topology/", "transport/", "collectives/", "exec/", "core/"}},
      {"src/api/", {"base/", "core/", "api/", "gyre/"}},
      {"include/", {"gyre/"}},
      {"frameworks/", {"gyre/", "frameworks/"}},
      // Micro-benchmarks measure the floors themselves; the programs know the public header alone.
      {"bench/micro/", {""}},
      {"bench/", {"gyre/", "bench/", "harness.h"}},
  };
  return kFloors;
}

std::vector<std::string> strangers_of(const Source& source) {
  std::vector<std::string> strangers;
  for (const Floor& floor : floors()) {
    if (!source.path.starts_with(floor.folder)) continue;
    for (const std::string& path : own_includes(source)) {
      bool allowed = false;
      for (const std::string& beginning : floor.may_include)
        allowed = allowed || path.starts_with(beginning);
      if (!allowed) strangers.push_back(path);
    }
    return strangers;
  }
  return strangers;
}

TEST(Includes, point_only_to_floors_below) {
  for (const Source& source : sources())
    for (const std::string& path : strangers_of(source))
      ADD_FAILURE() << source.path << " must not include " << path;
}

TEST(Includes, nobody_sees_tests) {
  for (const Source& source : sources()) {
    if (source.path.starts_with("tests/")) continue;
    for (const std::string& path : own_includes(source))
      EXPECT_FALSE(path.starts_with("tests/") || path.starts_with("harness/")) << source.path;
  }
}

TEST(Includes, a_wrong_direction_is_found) {
  const Source upward{"src/base/clock.h", {"#include \"core/group.h\"", "#include \"base/hd.h\""}};
  EXPECT_EQ(strangers_of(upward), std::vector<std::string>{"core/group.h"});
  const Source sideways{"transport/shm.cc", {"#include \"collectives/plan.h\""}};
  EXPECT_EQ(strangers_of(sideways).size(), 1u);
  const Source fine{"src/core/group.cc", {"#include \"transport/link.h\""}};
  EXPECT_TRUE(strangers_of(fine).empty());
}

TEST(Includes, the_tree_was_found) { EXPECT_GT(sources().size(), 50u); }

}  // namespace
}  // namespace tidy
