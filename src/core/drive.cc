// Driving: the calling thread runs a task to its end: turns, patience, and a look around now and
// then.
#include <algorithm>

#include "core/communicator.h"
#include "core/waiter.h"

namespace gyre {

namespace {

std::string ranks_text(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string out = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < ranks.size() && i < 16; ++i)
    out += fmt::format("{} {}", i == 0 ? "" : ",", ranks[i]);
  if (ranks.size() > 16) out += fmt::format(" and {} more", ranks.size() - 16);
  return out;
}

// Adds the call, unless the news names it already, as a peer's farewell does.
Error in_call(Error why, const Task& task) {
  const std::string where = fmt::format("in {}", to_text(task.call()));
  if (why.text.find(where) != std::string::npos) return why;
  return std::move(why).context(where);
}

// Reasons to stop waiting: a stop from another thread, news of the peers we wait for, the deadline.
Status look_around(Task& task, Communicator& comm) {
  if (comm.stopping())
    if (auto why = comm.fault()) return *std::move(why);
  const std::vector<Edge*> blocked = task.blocked();
  for (Edge* edge : blocked) {
    if (edge->ready()) return {};  // it came while we looked
    Status status = comm.mesh().check_peer(*edge->link);
    if (!status && !edge->ready()) return in_call(status.take_error(), task);
  }
  for (Link* link : task.posted_links()) GYRE_TRY(comm.mesh().hear_peer(*link));
  if (!blocked.empty()) {
    const Nanos since = comm.operation_deadline() - comm.options().timeout;
    comm.status_page().wait_for(blocked.front()->link->peer(), since);
  }
  if (comm.operation_deadline() == kNever || now_ns() < comm.operation_deadline()) return {};
  const std::vector<int> awaited = task.awaited();
  const int culprit = awaited.empty() ? -1 : awaited.front();
  const bool crossed = task.call().collective() == Collective::send;
  return error(Code::timeout, "time-out after {} in {} on rank {}: waiting for {}{}",
               duration_text(comm.options().timeout), to_text(task.call()), comm.rank(),
               ranks_text(awaited), crossed ? std::string(" ") + kCrossingHint : "")
      .blame(culprit);
}

// The reason behind a failure: a peer that died or took its buffers back has left word.
Error reason_of(Error why, Task& task, Communicator& comm) {
  if (why.code != Code::remote) return why;
  Link* link = comm.mesh().link(why.rank);
  if (!link) return why;
  Result<PeerNews> news = comm.mesh().hear_peer(*link);
  return in_call(news ? std::move(why) : news.take_error(), task);
}

// Moves the bytes of posted links. A broken link ends the task, unless its last frames were a
// farewell.
Result<bool> turn_links(Task& task, Communicator& comm) {
  bool moved = false;
  for (Link* link : task.posted_links()) {
    Result<bool> turned = link->turn();
    if (!turned) {
      GYRE_TRY(comm.mesh().check_peer(*link));
      return in_call(turned.take_error(), task);
    }
    moved |= *turned;
  }
  return moved;
}

}  // namespace

Status Communicator::drive(Task& task) {
  Waiter waiter(local_runners_);
  // One round: whether anything moved. `over` when the task has ended, with `end` saying how.
  bool over = false;
  Status end;
  auto give_up = [&](Error why, bool recoverable) {
    over = true;
    end = recoverable ? std::move(why) : fail(std::move(why));
  };
  auto round = [&] {
    const Turn turn = task.turn();
    if (turn == Turn::done) return over = true;
    if (turn == Turn::failed) {
      give_up(reason_of(task.take_failure(), task, *this), task.recoverable());
      return true;
    }
    bool moved = turn == Turn::moved;
    if (task.posted_links().empty()) return moved;
    Result<bool> turned = turn_links(task, *this);
    if (!turned) give_up(turned.take_error(), false);
    return over || *turned || moved;
  };
  auto look = [&] {
    Status status = look_around(task, *this);
    if (!status) give_up(status.take_error(), false);
  };
  for (;;) {
    const bool moved = round();
    if (over) return end;
    if (moved) {
      waiter.reset();
    } else if (!waiter.sleepy()) {
      if (waiter.pause(!task.posted_links().empty())) look();
    } else {
      look();
      if (!over && waiter.sleep(mesh_->desk() ? &mesh_->desk()->bell() : nullptr,
                                task.posted_links(), round))
        waiter.reset();
    }
    if (over) return end;
  }
}

}  // namespace gyre
