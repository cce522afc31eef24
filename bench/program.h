// The one entry of every benchmark program.
#pragma once

#include "bench/collective.h"

namespace perf {

// Exit status: 0 right and fast enough; 1 wrong data, a failed rank or a missed bar; 2 bad flags.
int run_program(int argc, char** argv, const Collective& collective);

}  // namespace perf
