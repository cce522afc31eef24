// The sends and receives of a group.
#include <algorithm>
#include <cstring>

#include "core/communicator.h"
#include "core/task.h"

namespace gyre {

PointToPointTask::PointToPointTask(Communicator& comm, std::vector<Request> requests)
    : comm_(comm), requests_(std::move(requests)) {}

// Sends to oneself meet their receives in order; the rest queue up per peer and direction.
Status PointToPointTask::prepare() {
  GYRE_TRY(copy_to_self());
  if (!requests_.empty()) call_ = signature_of(requests_.front(), 0);
  std::map<std::pair<int, Collective>, std::size_t> index;
  for (const Request& request : requests_) {
    if (request.root == comm_.rank()) continue;
    const auto [at, fresh] = index.try_emplace({request.root, request.what}, queues_.size());
    if (fresh) {
      queues_.emplace_back();
      edges_.push_back({.peer = request.root,
                        .index = kPointToPointEdge,
                        .outgoing = request.what == Collective::send});
    }
    queues_[at->second].waiting.push_back(&request);
  }
  comm_.mesh().reach(edges_);
  return {};
}

Result<bool> PointToPointTask::open_queues() {
  bool all = GYRE_TRY(comm_.mesh().turn_linking());
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (!queues_[i].runner) GYRE_TRY(open(i));
    all = all && queues_[i].runner;
  }
  const Nanos now = now_ns();
  if (all || now < next_check_) return all;
  next_check_ = now + 1_ms;
  GYRE_TRY(comm_.mesh().keep_waiting(edges_, EdgeKind::point_to_point, comm_.operation_deadline(),
                                     comm_.stop_word()));
  return false;
}

Status PointToPointTask::open(std::size_t queue) {
  const EdgeSpec& edge = edges_[queue];
  std::vector<Edge*> opened;
  if (!GYRE_TRY(comm_.mesh().open({&edge, 1}, EdgeKind::point_to_point, opened))) return {};
  BoundPlan* plan =
      GYRE_TRY(comm_.plan({Algorithm::pairwise, EdgeKind::point_to_point},
                          edge.outgoing ? Collective::send : Collective::recv, edge.peer));
  queues_[queue].runner = plan->runner.get();
  queues_[queue].program = &plan->program;
  for (Link* link : plan->runner->posted_links())
    if (std::find(posted_links_.begin(), posted_links_.end(), link) == posted_links_.end())
      posted_links_.push_back(link);
  return {};
}

Status PointToPointTask::copy_to_self() {
  std::deque<const Request*> sends;
  std::deque<const Request*> receives;
  for (const Request& request : requests_) {
    if (request.root != comm_.rank()) continue;
    (request.what == Collective::send ? sends : receives).push_back(&request);
  }
  for (; !sends.empty() && !receives.empty(); sends.pop_front(), receives.pop_front()) {
    const Request& from = *sends.front();
    const Request& to = *receives.front();
    if (from.count != to.count || from.type != to.type)
      return error(Code::invalid_usage, "rank {} sends itself {} {} but receives {} {}",
                   comm_.rank(), from.count, to_text(from.type), to.count, to_text(to.type));
    if (from.count > 0) std::memmove(to.recv, from.send, from.count * size_of(from.type));
  }
  if (!sends.empty() || !receives.empty())
    return error(Code::invalid_usage,
                 "rank {} sends to itself without a matching receive in the same group",
                 comm_.rank());
  return {};
}

void PointToPointTask::start_next(Queue& queue) {
  const Request& request = *queue.waiting.front();
  Work work = bind_work(request, *queue.program, comm_.rank(), comm_.size(),
                        comm_.mesh().shapes().slot_bytes, tables_);
  work.call = signature_of(request, 0);
  // An empty message is still one step on the edge, so that it meets its partner.
  work.loops_min = 1;
  queue.runner->start(work);
  queue.busy = true;
}

Turn PointToPointTask::turn() {
  if (!open_) {
    Result<bool> opened = open_queues();
    if (!opened) {
      failure_ = opened.take_error().context(
          fmt::format("waiting for the other end of {} {}", to_text(call_), kCrossingHint));
      return Turn::failed;
    }
    open_ = *opened;
  }
  bool moved = false, pending = !open_;
  for (Queue& queue : queues_) {
    while (queue.runner && (queue.busy || !queue.waiting.empty())) {
      if (!queue.busy) start_next(queue);
      const Turn turn = queue.runner->turn();
      if (turn == Turn::failed) {
        failure_ = *queue.runner->failure();
        return Turn::failed;
      }
      moved |= turn != Turn::stuck;
      if (turn != Turn::done) {
        pending = true;
        break;
      }
      queue.waiting.pop_front();
      queue.busy = false;
    }
  }
  if (!pending) return Turn::done;
  return moved ? Turn::moved : Turn::stuck;
}

Error PointToPointTask::take_failure() { return *std::move(failure_); }

std::vector<Edge*> PointToPointTask::blocked() {
  std::vector<Edge*> out;
  for (Queue& queue : queues_) {
    if (!queue.busy) continue;
    const auto more = queue.runner->blocked();
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

std::vector<int> PointToPointTask::awaited() {
  std::vector<int> out = Task::awaited();
  for (std::size_t i = 0; i < queues_.size(); ++i)
    if (!queues_[i].runner) out.push_back(edges_[i].peer);
  return out;
}

}  // namespace gyre
