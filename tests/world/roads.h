// The roads that ranks of one machine can take to each other, as environments. Knows names alone.
#pragma once

#include <string>

#include "harness/world.h"

namespace world {

struct Road {
  std::string name;
  bool threads;
  harness::Environment environment;
};

inline harness::WorldOptions on(const Road& road, int ranks, harness::Environment more = {}) {
  harness::WorldOptions out{
      .ranks = ranks, .threads = road.threads, .environment = road.environment};
  out.environment.insert(out.environment.end(), more.begin(), more.end());
  return out;
}

inline std::vector<Road> all_roads() {
  return {{"shm", false, {}},
          {"copied", false, {{"GYRE_CMA", "0"}}},
          {"tcp", false, {{"GYRE_TRANSPORT", "tcp"}}},
          {"loop", true, {}}};
}
// Between processes alone: threads cannot be killed one by one.
inline std::vector<Road> process_roads() {
  return {{"shm", false, {}}, {"tcp", false, {{"GYRE_TRANSPORT", "tcp"}}}};
}

// A gtest parameter's printed form.
inline void PrintTo(const Road& road, std::ostream* out) { *out << road.name; }
inline std::string name_of_road(const testing::TestParamInfo<Road>& at) { return at.param.name; }

}  // namespace world
