// Steady time and deadlines, nanoseconds. A deadline of kNever never comes.
#pragma once

#include <time.h>

#include <algorithm>
#include <limits>

#include "base/units.h"

namespace gyre {

inline constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

inline Nanos now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<Nanos>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// `span` from now; a span of 0 means no limit.
inline Nanos deadline_in(Nanos span) { return span == 0 ? kNever : now_ns() + span; }

// Milliseconds left, as poll(2) takes them: -1 for never, rounded up, at least 0.
inline int poll_timeout_ms(Nanos deadline) {
  if (deadline == kNever) return -1;
  const Nanos left = deadline - now_ns();
  if (left <= 0) return 0;
  return static_cast<int>(std::min<Nanos>((left + 999'999) / 1'000'000, 1'000'000'000));
}

}  // namespace gyre
