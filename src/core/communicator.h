// The communicator: one rank's place in one group. Owns mesh, plans and state; runs tasks. Knows
// sequence numbers, deadlines and how a failure ends everything. Does not know the public API's
// types.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "collectives/catalog.h"
#include "core/bootstrap.h"
#include "core/choice.h"
#include "core/mesh.h"
#include "core/request.h"
#include "core/status_page.h"
#include "core/task.h"
#include "exec/runner.h"

namespace gyre {

struct CommOptions {
  Nanos timeout = 0;  // of an operation; 0 never
  Nanos init_timeout = 0;
  bool deterministic = false;
  std::uint32_t slot_bytes = 0;
  std::uint32_t slots = 0;
  std::string transport = "auto";
  std::string name;
};
// From the knobs; a user's config then overrides.
CommOptions default_options();

// A plan of this rank with its edges.
struct BoundPlan {
  Program program;
  std::unique_ptr<Runner> runner;
};

class Communicator {
 public:
  // Collective. `abort` stops the waiting from another thread.
  static Result<std::unique_ptr<Communicator>> join(const std::vector<JobId>& ids, int rank,
                                                    int size, const CommOptions& options,
                                                    const std::atomic<bool>& abort);
  ~Communicator();

  int rank() const { return rank_; }
  int size() const { return layout_.size; }
  const Layout& layout() const { return layout_; }
  const CommOptions& options() const { return options_; }
  Mesh& mesh() { return *mesh_; }
  std::mutex& mutex() { return mutex_; }
  std::uint64_t id() const { return id_; }

  // Runs requests to the end: collectives in order, then sends and receives together. Needs: mutex
  // held by this thread. Gives: the first failure.
  Status run(std::span<const Request> requests);
  // One collective, the shortest way.
  Status run_one(const Request& request);

  // Children. Collective over this communicator (split) or over the survivors (shrink).
  Result<std::unique_ptr<Communicator>> split(int color, int key, const CommOptions& options);
  Result<std::unique_ptr<Communicator>> shrink(std::span<const int> exclude,
                                               const CommOptions& options);

  // Any thread: makes every wait end; `why` goes to the peers.
  void stop(Error why);
  // stop(), then tells the peers as soon as no call is inside. Any thread.
  void abandon(Error why);
  // The first failure, if any. Any thread.
  std::optional<Error> fault() const;
  // Looks for peers' farewells and deaths without waiting. Needs: mutex held.
  void look();
  bool stopping() const { return stop_.load(std::memory_order_relaxed); }

  // The cost model's answer for one request, microseconds.
  double estimate_us(const Request& request) const { return chooser_.estimate_us(request); }

  // For tasks.
  std::uint64_t next_sequence() { return ++sequence_; }
  Result<BoundPlan*> plan(const Choice& choice, Collective collective, int root);
  // The plan of a small call (Chooser::small), by the shortest way.
  Result<BoundPlan*> small_plan(const Request& request, int root);
  // Of the operation under way; its clock starts when somebody first asks, so that an operation
  // that never has to wait reads no clock.
  Nanos operation_deadline() {
    if (deadline_ == 0) deadline_ = deadline_in(options_.timeout);
    return deadline_;
  }
  const std::atomic<bool>& stop_word() const { return stop_; }
  Chooser& chooser() { return chooser_; }
  StatusPage& status_page() { return status_page_; }
  bool all_in_one_process() const { return one_process_; }
  int local_runners() const { return local_runners_; }

 private:
  Communicator(std::uint64_t id, int rank, Layout layout, const CommOptions& options);
  static Result<std::unique_ptr<Communicator>> assemble(std::uint64_t id, int rank,
                                                        std::vector<RankCard> cards,
                                                        std::shared_ptr<Doorway> doorway,
                                                        const CommOptions& options);
  // Runs a prepared task to its end, in this thread (drive.cc).
  Status drive(Task& task);
  // Records the first failure and tells all peers.
  Error fail(Error error);

  std::uint64_t id_;
  int rank_;
  Layout layout_;
  CommOptions options_;
  std::mutex mutex_;
  std::unique_ptr<Mesh> mesh_;
  std::unordered_map<std::uint64_t, std::unique_ptr<BoundPlan>> plans_;
  std::array<BoundPlan*, kCollectiveCount> small_plans_{};  // of root 0
  Chooser chooser_;
  StatusPage status_page_;
  CollectiveTask task_;
  std::uint64_t sequence_ = 0;
  std::uint64_t children_ = 0;
  Nanos deadline_ = 0;  // 0: not asked for yet
  bool one_process_ = false;
  int local_runners_ = 1;
  std::atomic<bool> stop_{false};
  mutable std::mutex fault_mutex_;
  std::optional<Error> fault_;
  std::atomic<bool> failed_{false};  // fault_ is set; pairs with fault()
};

}  // namespace gyre
