#include "api/group.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <thread>

#include "base/thread.h"

namespace gyre {

namespace {

struct Group {
  int depth = 0;
  std::vector<GroupedCall> calls;
  std::vector<GroupedInit> inits;
};

thread_local Group group;

void drop(std::vector<GroupedInit>& inits) {
  for (GroupedInit& init : inits) init.drop();
}

// Runs every init in a thread of its own, or none of them where threads run out: those that ran
// would wait for the others. Gives: the first failure, by position.
Status run_side_by_side(std::vector<GroupedInit>& inits) {
  enum Gate : int { closed, open, cancelled };
  std::atomic<int> gate{closed};
  std::vector<Status> results(inits.size());
  std::vector<std::thread> threads;
  Status whole;
  for (std::size_t i = 1; i < inits.size() && whole; ++i) {
    auto thread = start_thread("an init in a group", [&, i] {
      gate.wait(closed);
      if (gate == open) results[i] = inits[i].run();
    });
    if (thread)
      threads.push_back(*std::move(thread));
    else
      whole = thread.take_error();
  }
  gate = whole ? open : cancelled;
  gate.notify_all();
  if (whole) results[0] = inits[0].run();
  for (std::thread& thread : threads) thread.join();
  if (!whole) {
    drop(inits);
    return whole;
  }
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
  GYRE_TRY(check_ready(share.handle, "group"));
  Communicator& comm = *share.handle->comm;
  std::lock_guard lock(comm.mutex());
  Status status = comm.run(share.requests);
  if (!status) (void)answer(share.handle, status);
  return status;
}

Result<std::shared_ptr<HostStream>> worker_of(gyreComm* handle) {
  std::lock_guard lock(handle->mutex);
  if (!handle->worker) handle->worker = GYRE_TRY(HostStream::create());
  return handle->worker;
}

// Ranks of one thread wait for each other, so each communicator but the first runs its part in a
// worker of its own.
Status run_calls(std::vector<GroupedCall> calls) {
  std::vector<Share> shares = shares_of(calls);
  std::vector<std::shared_ptr<HostStream>> workers;
  for (const Share& share : shares) {
    Use use(share.handle);
    GYRE_TRY(check_ready(share.handle, "group"));
    if (&share != &shares.front()) workers.push_back(GYRE_TRY(worker_of(share.handle)));
  }
  for (std::size_t i = 0; i < workers.size(); ++i)
    workers[i]->enqueue([&share = shares[i + 1]] { return run_share(share); });
  Status first = run_share(shares[0]);
  for (const auto& worker : workers) {
    Status status = worker->synchronize();
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
  std::deque<Queued> queued;
};

Status meet_at(const std::shared_ptr<Junction>& junction) {
  std::unique_lock lock(junction->mutex);
  if (--junction->missing > 0) {
    junction->changed.wait(lock, [&] { return junction->done; });
    return {};
  }
  Status status = run_calls(std::move(junction->calls));
  junction->queued.clear();
  junction->done = true;
  junction->changed.notify_all();
  return status;
}

Status run_on_streams(std::vector<GroupedCall> calls) {
  std::vector<std::shared_ptr<HostStream>> streams;
  auto junction = std::make_shared<Junction>();
  for (GroupedCall& call : calls) {
    if (!call.stream)
      return error(Code::invalid_usage, "a group uses streams on all of its calls or on none");
    // The calls must not keep a destroyed stream: it would end in its own thread.
    const std::shared_ptr<HostStream> stream = std::move(call.stream);
    if (std::find(streams.begin(), streams.end(), stream) == streams.end())
      streams.push_back(stream);
    junction->queued.emplace_back(call.handle);
  }
  junction->missing = streams.size();
  junction->calls = std::move(calls);
  // Two groups over the same streams come to all of them in one order, or they would wait for each
  // other.
  static std::mutex order;
  std::lock_guard lock(order);
  for (const auto& stream : streams) stream->enqueue([junction] { return meet_at(junction); });
  return {};
}

}  // namespace

bool in_group() { return group.depth > 0; }
void group_start() { ++group.depth; }
void group_add(GroupedCall call) { group.calls.push_back(std::move(call)); }
void group_add_init(GroupedInit init) { group.inits.push_back(std::move(init)); }

Status group_end() {
  if (group.depth == 0) return error(Code::invalid_usage, "gyreGroupEnd without gyreGroupStart");
  if (--group.depth > 0) return {};
  std::vector<GroupedInit> inits = std::exchange(group.inits, {});
  std::vector<GroupedCall> calls = std::exchange(group.calls, {});
  if (!inits.empty() && !calls.empty()) {
    drop(inits);
    return error(Code::invalid_usage,
                 "a group holds either inits and splits or operations, not both");
  }
  if (!inits.empty()) return run_side_by_side(inits);
  if (calls.empty()) return {};
  const bool any_stream = std::any_of(
      calls.begin(), calls.end(), [](const GroupedCall& call) { return call.stream != nullptr; });
  return any_stream ? run_on_streams(std::move(calls)) : run_calls(std::move(calls));
}

Result<std::vector<GroupedCall>> group_drop() {
  if (group.depth == 0)
    return error(Code::invalid_usage, "gyreGroupSimulateEnd without gyreGroupStart");
  if (--group.depth > 0) return std::vector<GroupedCall>();
  std::vector<GroupedInit> inits = std::exchange(group.inits, {});
  drop(inits);
  return std::exchange(group.calls, {});
}

}  // namespace gyre
