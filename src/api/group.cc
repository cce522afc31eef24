#include "api/group.h"

#include <algorithm>
#include <condition_variable>
#include <thread>

namespace gyre {

namespace {

struct Group {
  int depth = 0;
  std::vector<GroupedCall> calls;
  std::vector<std::function<Status()>> inits;
};

thread_local Group group;

// Runs every task in a thread of its own. Gives: the first failure, by position.
Status run_side_by_side(std::vector<std::function<Status()>>& tasks) {
  std::vector<Status> results(tasks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < tasks.size(); ++i)
    threads.emplace_back([&, i] { results[i] = tasks[i](); });
  if (!tasks.empty()) results[0] = tasks[0]();
  for (std::thread& thread : threads) thread.join();
  for (Status& result : results)
    if (!result) return std::move(result);
  return {};
}

// One communicator's part of a group: collectives in order, then sends and receives.
struct Share {
  gyreComm* handle;
  std::vector<Request> requests;
};

std::vector<Share> shares_of(std::vector<GroupedCall>& calls) {
  std::vector<Share> shares;
  for (GroupedCall& call : calls) {
    auto at = std::find_if(shares.begin(), shares.end(),
                           [&](const Share& share) { return share.handle == call.handle; });
    if (at == shares.end()) at = shares.insert(shares.end(), Share{call.handle, {}});
    at->requests.push_back(std::move(call.request));
  }
  return shares;
}

Status run_share(const Share& share) {
  Use use(share.handle);
  GYRE_TRY(check_ready(share.handle));
  Communicator& comm = *share.handle->comm;
  std::lock_guard lock(comm.mutex());
  Status status = comm.run(share.requests);
  if (!status) (void)answer(share.handle, status);
  return status;
}

// Ranks of one thread wait for each other, so each communicator but the first runs its part in a
// worker of its own.
Status run_calls(std::vector<GroupedCall> calls) {
  std::vector<Share> shares = shares_of(calls);
  for (std::size_t i = 1; i < shares.size(); ++i) {
    std::unique_ptr<HostStream>& worker = shares[i].handle->worker;
    if (!worker) worker = std::make_unique<HostStream>();
    worker->enqueue([&share = shares[i]] { return run_share(share); });
  }
  Status first = run_share(shares[0]);
  for (std::size_t i = 1; i < shares.size(); ++i) {
    Status status = shares[i].handle->worker->synchronize();
    if (first && !status) first = std::move(status);
  }
  return first;
}

// A group over several streams begins when all of them have come to it and ends for all at once.
struct Junction {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t missing = 0;
  bool done = false;
  std::vector<GroupedCall> calls;
};

Status meet_at(const std::shared_ptr<Junction>& junction) {
  std::unique_lock lock(junction->mutex);
  if (--junction->missing > 0) {
    junction->changed.wait(lock, [&] { return junction->done; });
    return {};
  }
  Status status = run_calls(std::move(junction->calls));
  junction->done = true;
  junction->changed.notify_all();
  return status;
}

}  // namespace

bool in_group() { return group.depth > 0; }
void group_start() { ++group.depth; }
void group_add(GroupedCall call) { group.calls.push_back(std::move(call)); }
void group_add_init(std::function<Status()> init) { group.inits.push_back(std::move(init)); }

Status group_end() {
  if (group.depth == 0) return error(Code::invalid_usage, "gyreGroupEnd without gyreGroupStart");
  if (--group.depth > 0) return {};
  std::vector<std::function<Status()>> inits = std::move(group.inits);
  std::vector<GroupedCall> calls = std::move(group.calls);
  group.inits.clear();
  group.calls.clear();
  if (!inits.empty() && !calls.empty())
    return error(Code::invalid_usage, "a group holds either inits or operations, not both");
  if (!inits.empty()) return run_side_by_side(inits);
  if (calls.empty()) return {};
  std::vector<HostStream*> streams;
  for (const GroupedCall& call : calls)
    if (std::find(streams.begin(), streams.end(), call.stream) == streams.end())
      streams.push_back(call.stream);
  if (streams.size() == 1 && !streams[0]) return run_calls(std::move(calls));
  if (std::find(streams.begin(), streams.end(), nullptr) != streams.end())
    return error(Code::invalid_usage, "a group uses streams on all of its calls or on none");
  auto junction = std::make_shared<Junction>();
  junction->missing = streams.size();
  junction->calls = std::move(calls);
  for (HostStream* stream : streams) stream->enqueue([junction] { return meet_at(junction); });
  return {};
}

Result<std::vector<GroupedCall>> group_drop() {
  if (group.depth == 0)
    return error(Code::invalid_usage, "gyreGroupSimulateEnd without gyreGroupStart");
  std::vector<GroupedCall> calls;
  if (--group.depth == 0) {
    calls = std::move(group.calls);
    group.calls.clear();
    group.inits.clear();
  }
  return calls;
}

}  // namespace gyre
