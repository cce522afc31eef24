// Who started this process as one of many: rank, size and how to meet, from the environment. Knows
// the conventions of launchers. Does not know communicators.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "core/job_id.h"
#include "core/root.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace gyre {

// How ranks come to hold one id.
enum class MeetBy { nothing, given_id, fixed_address, pmi, pmix };

struct Launch {
  const char* source = "";  // "gyre", "torchrun", "open mpi", "mpich", "slurm" or "alone"
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 0;  // 0: unknown
  MeetBy meet_by = MeetBy::nothing;
  std::optional<JobId> id;  // given_id
  std::string root_host;    // fixed_address
  std::uint16_t root_port = 0;
  // fixed_address: the secret derives from this text, which all ranks of the job and few others
  // know. GYRE_SECRET, when set, is part of it and makes it a real secret.
  std::string secret_text;
  int pmi_fd = -1;  // pmi
};

// Reads one variable; nullptr when unset.
using Environment = std::function<const char*(const char*)>;

// Innermost launcher first: GYRE_RANK, torchrun, Open MPI, MPICH's PMI, Slurm. GYRE_ROOT and
// GYRE_UNIQUE_ID replace the meeting point of any of them. Gives: size 1 where nothing shows.
// Fails: invalid-usage naming the variable that is missing or malformed.
Result<Launch> detect_launcher();
Result<Launch> detect_launcher(const Environment& environment);

// What join() needs. `root` is set on rank 0 of fixed addresses alone, and serves while it lives.
struct Invitation {
  JobId id;
  std::unique_ptr<Root> root;
};
// Collective. Fails: timeout, system (address in use, launcher gone), invalid-usage.
Result<Invitation> meet(const Launch& launch, Nanos deadline);

}  // namespace gyre
