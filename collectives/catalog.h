// The catalog: every algorithm by name, for which collective and shape it is valid, and its
// builder. Knows shapes. Does not know when an algorithm is fast: that is the tuner's.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "collectives/plan.h"

namespace gyre {

enum class Algorithm : std::uint8_t {
  ring,
  tree,
  doubling,
  halving,
  circulant,
  one_shot,
  two_shot,
  window_push,
  window_pull,
  bruck,
  pairwise,
  binomial,
  hierarchical,
};
inline constexpr int kAlgorithmCount = 13;
const char* to_text(Algorithm algorithm);
Result<Algorithm> parse_algorithm(std::string_view text);

// Operands of one move are counted in a byte, so algorithms that talk to all ranks at once end
// here.
inline constexpr int kDirectRanksMax = 255;

// True when ranks' values are combined: the op matters and the last combining move is kFinal.
bool reduces(Collective collective);

// What a program is built for. root is 0 where the collective has none; of send and recv it is the
// other end.
struct Shape {
  Collective collective = Collective::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  int rank = 0;
  int root = 0;
  const Layout* layout = nullptr;
  int size() const { return layout->size; }
};

struct Entry {
  Collective collective;
  Algorithm algorithm;
  bool needs_windows;  // reads or writes peers' buffers
  bool rank_order;     // every reduction is one move over all ranks in rank order: deterministic
  std::uint16_t slots_min;      // over all shapes; the tests hold it against the prover's answer
  bool (*valid)(const Shape&);  // this n, this layout
  void (*build)(const Shape&, Program&);  // fills lanes, moves, refs, edges, blocks, scratch, parts
};

std::span<const Entry> catalog();
const Entry* find_entry(Collective collective, Algorithm algorithm);

// This rank's program; slots_min set. A communicator of one rank needs no algorithm: every valid
// entry gives the same copy. Fails: invalid-argument when the entry is missing or not valid.
Result<Program> build_program(const Shape& shape);

}  // namespace gyre
