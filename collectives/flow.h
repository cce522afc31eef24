// A run of all ranks' programs in which data is only counted: edges of k slots, lanes that wait for
// what is full or empty. Knows when a lane may take its next turn and who waits for whom.
//
// The programs are a bounded Kahn network, so any order of turns ends alike: one run decides. A
// turn needs all it waits for at once, which is the strictest reading of a move; an executor that
// takes tokens and slots one by one stops in no more cases.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "collectives/wiring.h"

namespace gyre {

class Flow {
 public:
  using Loops = std::function<std::uint64_t(int rank, const Lane&)>;
  // programs and wiring outlive the flow.
  Flow(std::span<const Program> programs, const Wiring& wiring, int slots, const Loops& loops);

  int lanes() const { return static_cast<int>(cursors_.size()); }
  int rank(int lane) const { return wiring_.lanes[static_cast<std::size_t>(lane)].rank; }
  const Program& program(int lane) const { return programs_[static_cast<std::size_t>(rank(lane))]; }
  const Lane& lane_of(int lane) const {
    return program(lane)
        .lanes[static_cast<std::size_t>(wiring_.lanes[static_cast<std::size_t>(lane)].lane)];
  }
  int channel(int lane, const Ref& ref) const {
    return wiring_.channel_of[static_cast<std::size_t>(rank(lane))][ref.edge];
  }
  const Cursor& cursor(int lane) const { return cursors_[static_cast<std::size_t>(lane)]; }

  bool done(int lane) const { return cursor(lane).done(); }
  bool ready(int lane) const { return blocking_channel(lane) < 0; }
  // Takes the lane's turn: needs !done and ready.
  void advance(int lane);

  // Takes turns until all is done, nothing moves, or step(lane), called before each turn, is false.
  template <class Step>
  void run(Step step) {
    while (!awake_.empty()) {
      const int lane = awake_.front();
      awake_.pop_front();
      queued_[static_cast<std::size_t>(lane)] = false;
      while (!done(lane) && ready(lane)) {
        if (!step(lane)) return;
        advance(lane);
      }
    }
  }

  std::uint64_t turns() const { return turns_; }
  bool finished() const;
  // Who waits for whom, as a shortest circle or chain. Empty when finished.
  std::string deadlock() const;
  // What lies in an edge after the end. Empty when nothing does.
  std::string leftover() const;
  std::string where(int lane) const;  // "rank 2 lane 0 move 3 turn 1"

 private:
  int blocking_channel(int lane) const;
  void wake(int lane);

  std::span<const Program> programs_;
  const Wiring& wiring_;
  int slots_;
  std::vector<Cursor> cursors_;
  std::vector<int> depth_;  // per channel: slots in use
  std::vector<bool> queued_;
  std::deque<int> awake_;
  std::uint64_t turns_ = 0;
};

}  // namespace gyre
