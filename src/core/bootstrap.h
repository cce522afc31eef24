// How ranks meet and agree before any link exists: a binomial tree of sockets that carries a few
// all-gathers. Knows the root service, the tree and how a failure reaches everybody. Does not know
// what the gathered bytes mean. Lives during init alone; its sockets close with it.
#pragma once

#include "base/result.h"
#include "core/doorway.h"
#include "core/job_id.h"
#include "core/neighbour.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

struct JoinOptions {
  std::vector<JobId> ids;  // one or more; ranks are split in contiguous blocks, one root each
  int rank = 0;
  int size = 1;
  Nanos deadline = kNever;
  const std::atomic<bool>* abort = nullptr;
  std::uint16_t protocol = kProtocolVersion;  // other than the default in tests alone
};

class Bootstrap {
 public:
  // Collective. Needs: the root of each id is served. Gives: a connected tree and this rank's
  // doorway. Fails: invalid-usage (two ranks alike, sizes or versions differ; names them), timeout
  // (names the ranks that have not come), remote, aborted, system. All ranks that came are told.
  static Result<Bootstrap> join(const JoinOptions& options);

  Bootstrap(Bootstrap&&) noexcept;
  Bootstrap& operator=(Bootstrap&&) noexcept;
  // Says good-bye to the neighbours; never waits.
  ~Bootstrap();

  // Collective. `step` names the step in errors, the same on all ranks. Gives: every rank's bytes.
  // Fails: remote "rank R failed at step S: reason", timeout, aborted; the bootstrap is dead then.
  Result<std::vector<Blob>> all_gather(std::string_view step, std::span<const std::byte> mine);
  // Collective: done when all ranks have come here.
  Status barrier(std::string_view step);
  // This rank gives up: all others get `reason` from their current or next step. Never waits.
  void fail(std::string_view step, const Error& reason);

  const std::shared_ptr<Doorway>& doorway() const;
  int rank() const;
  int size() const;
  // Equal on all ranks, different for every job: a good comm id for the first communicator.
  std::uint64_t job_hash() const;
  int socket_count() const;

 private:
  struct State;
  explicit Bootstrap(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gyre
