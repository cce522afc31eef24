// PMI-1, the line protocol that MPICH's launcher speaks on a descriptor it hands down. Knows put,
// barrier and get of one value. Does not know what the value is.
#pragma once

#include "base/clock.h"
#include "base/result.h"

#include <string>

namespace gyre {

// Collective over the launcher's processes: the one with a `value` that is not empty gives it, all
// get it. Fails: system when the launcher is gone or refuses, timeout.
Result<std::string> pmi_exchange(int fd, const std::string& key, const std::string& value,
                                 Nanos deadline);

}  // namespace gyre
