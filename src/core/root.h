// The root service: where the ranks of one job come first. Knows who has come and tells each, once
// all are there, how to reach its parent in the bootstrap tree. Does not take part in the job: it
// may serve in any process that outlives the gathering.
#pragma once

#include "base/result.h"
#include "core/job_id.h"
#include "transport/socket.h"

#include <memory>
#include <thread>
#include <vector>

namespace gyre {

struct RootOptions {
  Secret secret{};
  std::vector<Address> addresses;  // one listener each; port 0: any, or one of GYRE_PORT_RANGE
};

// Serves in a thread of its own from start() to the destructor, or until every rank is answered.
class Root {
 public:
  // Fails: system, naming an address in use.
  static Result<std::unique_ptr<Root>> start(const RootOptions& options);
  // Ranks still waiting see their connection close.
  ~Root();

  const JobId& id() const { return id_; }

 private:
  Root() = default;
  JobId id_;
  Fd wake_;  // an eventfd that ends the thread's wait
  std::thread thread_;
};

// A new job whose root lives in this process until all ranks have come, on the addresses that other
// hosts can most likely reach. Fails: system, invalid-usage (interface knobs).
Result<JobId> start_job();

}  // namespace gyre
