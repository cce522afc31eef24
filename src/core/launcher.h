// Who started this process as one of many: rank, size and how to meet, from the environment. Knows
// the conventions of launchers. Does not know communicators.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "core/job_id.h"
#include "core/root.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace gyre {

// How ranks come to hold one id.
enum class Meeting { alone, given_id, fixed_address, pmi, pmix };

struct Launch {
  const char* source = "";  // "gyre", "torchrun", "open mpi", "mpich", "slurm", ...
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 0;       // 0: unknown
  Meeting meeting = Meeting::alone;
  std::optional<JobId> id;  // given_id
  std::string root_host;    // fixed_address
  std::uint16_t root_port = 0;
  std::string job_name;     // fixed_address: job-wide values the secret derives from
};

// Reads one variable; nullptr when unset.
using Environment = std::function<const char*(const char*)>;

// Needs: nothing. Gives: size 1 and `alone` when no launcher shows. Fails: invalid-usage naming the
// variable that is missing or malformed. Reads `environment`, the process's own by default.
Result<Launch> detect_launcher();
Result<Launch> detect_launcher(const Environment& environment);

// What join() needs. `root` serves while it lives and is set on rank 0 of fixed addresses alone.
struct Invitation {
  JobId id;
  std::unique_ptr<Root> root;
};
// Collective for launches that exchange the id. Fails: timeout, system (address in use, PMI).
Result<Invitation> meet(const Launch& launch, Nanos deadline);

}  // namespace gyre
