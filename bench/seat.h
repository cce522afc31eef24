// One rank from joining to leaving: joins its communicator, introduces itself, runs, leaves.
// Knows one rank; who watches it is ranks.h.
#pragma once

#include <sys/types.h>

#include "bench/collective.h"
#include "bench/meeting.h"
#include "bench/options.h"

namespace perf {

struct SeatSpec {
  int index = 0;  // on the page; the rank itself when the job is local
  bool launched = false;
  int report_fd = -1;  // Events of rank 0 go here
};

// The seat's state on the page says how it ended.
void take_seat(const Options& options, const Collective& collective, const Page& page,
               const SeatSpec& spec);

}  // namespace perf
