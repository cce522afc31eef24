// Tasks: what is under way on a communicator. A task goes as far as it can at each turn and never
// waits: the driver has the patience. Knows phases. Does not know how long to wait.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/binding.h"
#include "core/choice.h"
#include "core/request.h"
#include "exec/runner.h"

namespace gyre {

class Communicator;
struct BoundPlan;

class Task {
 public:
  virtual ~Task() = default;
  // Before the first turn: makes links and plans; may wait for peers until the deadline.
  virtual Status prepare() = 0;
  virtual Turn turn() = 0;
  virtual Error take_failure() = 0;
  // True when the failure left all ranks in step: the communicator stays usable.
  virtual bool recoverable() const = 0;
  virtual std::vector<Edge*> blocked() = 0;
  // Ranks it waits for.
  virtual std::vector<int> awaited();
  virtual const std::vector<Link*>& posted_links() const = 0;
  virtual const CallSignature& call() const = 0;
};

// One collective: small calls are one plan; large ones on one host first agree on how buffers are
// reached (and that all ranks made the same call), then run the plan that fits.
class CollectiveTask final : public Task {
 public:
  explicit CollectiveTask(Communicator& comm);
  ~CollectiveTask() override;
  void begin(const Request& request);
  Status prepare() override;
  Turn turn() override;
  Error take_failure() override;
  bool recoverable() const override { return work_.tolerant; }
  std::vector<Edge*> blocked() override { return runner_->blocked(); }
  const std::vector<Link*>& posted_links() const override { return runner_->posted_links(); }
  const CallSignature& call() const override { return call_; }

 private:
  enum class Phase { agree, main };
  struct Agreement;
  Status start_agree();
  Status finish_agree();
  Status map_windows();
  Status start_small();
  Status start_main(const Choice& choice);
  void bind(BoundPlan& plan, std::size_t chunk_bytes);
  int root() const;  // 0 where the collective has none

  Communicator& comm_;
  const Request* request_ = nullptr;
  CallSignature call_;
  Phase phase_ = Phase::main;
  Runner* runner_ = nullptr;
  Work work_;
  UnevenTables tables_;
  std::unique_ptr<Agreement> agreement_;
  std::optional<Error> failure_;
  std::array<std::byte, 8> scalar_{};
};

// Said whenever point-to-point calls wait in vain.
inline constexpr const char* kCrossingHint =
    "(sends and receives that cross need gyreGroupStart/End around them)";

// The sends and receives of one group, all under way at once; per peer and direction in order. Each
// begins as soon as its own peer is there, so that groups whose first use crosses in a ring move
// on.
class PointToPointTask final : public Task {
 public:
  PointToPointTask(Communicator& comm, std::vector<Request> requests);
  Status prepare() override;
  Turn turn() override;
  Error take_failure() override;
  bool recoverable() const override { return false; }
  std::vector<Edge*> blocked() override;
  std::vector<int> awaited() override;
  const std::vector<Link*>& posted_links() const override { return posted_links_; }
  const CallSignature& call() const override { return call_; }

 private:
  struct Queue {
    std::deque<const Request*> waiting;
    Runner* runner = nullptr;  // once the peer has opened its end
    const Program* program = nullptr;
    bool busy = false;
  };
  // True when all queues have their edges.
  Result<bool> open_queues();
  Status open(std::size_t queue);
  void start_next(Queue& queue);
  Status copy_to_self();

  Communicator& comm_;
  std::vector<Request> requests_;
  std::vector<EdgeSpec> edges_;
  std::vector<Queue> queues_;  // one per edge
  bool open_ = false;          // all of them
  Nanos next_check_ = 0;
  std::vector<Link*> posted_links_;
  UnevenTables tables_;
  CallSignature call_;
  std::optional<Error> failure_;
};

}  // namespace gyre
