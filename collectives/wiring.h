// All ranks' programs side by side: which edge of one is which edge of another, and a cursor that
// walks a lane's turns. Knows order and wiring. Does not know what moves do to data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "collectives/plan.h"

namespace gyre {

// One edge with both its ends. writer and reader are lanes of Wiring::lanes.
struct Channel {
  int source = 0, target = 0;
  std::uint16_t index = 0;
  bool token = false;
  int writer = -1, reader = -1;
};
std::string to_text(const Channel& channel);  // "edge 0 -> 1", "token 0 -> 1 index 2"

struct Wiring {
  struct LaneName {
    int rank, lane;
  };
  std::vector<Channel> channels;
  std::vector<std::vector<int>> channel_of;  // [rank][edge of its program]
  std::vector<LaneName> lanes;               // rank by rank
};

// Fails: internal, when an edge lacks an end, two lanes share an end, or a move names an edge
// twice, points outside its program, or moves data outside the body.
Result<Wiring> wire(std::span<const Program> programs);

// Walks the turns of one lane: prologue once, body `loops` times, epilogue once.
class Cursor {
 public:
  Cursor(const Program& program, const Lane& lane, std::uint64_t loops);
  bool done() const { return section_ == kSections; }
  const Move& move() const { return program_->moves[first_ + index_]; }
  std::uint32_t move_index() const { return first_ + index_; }
  int turn() const { return turn_; }
  std::uint64_t loop() const { return loop_; }
  void next();

 private:
  static constexpr int kSections = 3;
  void skip_empty();

  const Program* program_;
  std::uint32_t lengths_[kSections];
  std::uint32_t first_, index_ = 0;
  std::uint64_t loops_, loop_ = 0;
  int section_ = 0, turn_ = 0;
};

// Refs of one role of a move.
inline std::span<const Ref> waits_of(const Program& p, const Move& m) {
  return {p.refs.data() + m.ref, m.waits};
}
inline std::span<const Ref> sources_of(const Program& p, const Move& m) {
  return {p.refs.data() + m.ref + m.waits, m.sources};
}
inline std::span<const Ref> targets_of(const Program& p, const Move& m) {
  return {p.refs.data() + m.ref + m.waits + m.sources, m.targets};
}
inline std::span<const Ref> posts_of(const Program& p, const Move& m) {
  return {p.refs.data() + m.ref + m.waits + m.sources + m.targets, m.posts};
}

}  // namespace gyre
