// PMIx by libpmix.so.2, loaded when Open MPI or Slurm has started us. Knows put, fence and get of
// one value. Nothing links to it.
#pragma once

#include "base/clock.h"
#include "base/result.h"

#include <string>

namespace gyre {

// As pmi_exchange. Fails: system when the library is missing or refuses, timeout.
Result<std::string> pmix_exchange(const std::string& key, const std::string& value, Nanos deadline);

}  // namespace gyre
