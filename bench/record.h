// What is measured, as plain data that can travel through a pipe between processes.
// Knows no units but seconds, bytes and GB/s. Does not know how it is shown.
#pragma once

#include <cstdint>
#include <type_traits>

namespace perf {

// One placement (out of place, in place) of one row.
struct Timing {
  bool present = false;  // false: this collective has no such placement
  double seconds = 0;    // per operation, over ranks as -a says
  double algorithm_gbps = 0;
  double bus_gbps = 0;
  std::int64_t wrong = -1;   // elements over all ranks; -1 unchecked
  std::int32_t samples = 0;  // per-iteration figures below are of so many operations; 0 none
  double min = 0, max = 0, average = 0, deviation = 0, p50 = 0, p95 = 0, p99 = 0;
};

struct Row {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  char type[12] = {};
  char op[8] = {};
  std::int32_t root = -1;
  std::int64_t unix_seconds = 0;
  Timing out, in;
};

struct RankCard {
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  std::int32_t pid = 0;
  std::int32_t cpu = 0;
  std::int32_t library_version = 0;
  std::int64_t resident_bytes = 0;  // at the end, for -M
  char host[64] = {};
};

struct Event {
  enum Kind : std::int32_t { card, row, memory, done } kind = done;
  RankCard rank;
  Row line;
};
static_assert(std::is_trivially_copyable_v<Event>);
static_assert(sizeof(Event) <= 4096, "a pipe writes no more in one piece");

}  // namespace perf
