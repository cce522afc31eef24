// The emitter: what an algorithm is written against. Knows how moves, lanes and edges are laid down
// in a Program. Does not know any algorithm.
//
// Blocks and ranks may run over on either side: both are taken mod their count. A move that
// continues the one before it (same operands, every block further by the same step) becomes a turn
// of it, so an algorithm is written as plain loops and a ring of any size stays five moves.
#pragma once

#include <vector>

#include "collectives/catalog.h"
#include "collectives/plan.h"

namespace gyre {

// An operand as an algorithm names it; kHere is the block of the move itself.
struct Operand {
  static constexpr std::int32_t kHere = -0x7fffffff;
  Place place;
  std::uint16_t edge = 0;
  std::int32_t block = kHere;
};
using Operands = std::vector<Operand>;

inline Operand in(std::int32_t block = Operand::kHere) { return {Place::input, 0, block}; }
inline Operand out(std::int32_t block = Operand::kHere) { return {Place::output, 0, block}; }
inline Operand scratch(std::int32_t block) { return {Place::scratch, 0, block}; }

class Emitter {
 public:
  struct Sizes {
    int blocks = 1;
    int parts = 1;
    int scratch_blocks = 0;
  };
  // Both outlive the emitter.
  Emitter(const Shape& shape, Program& program, Sizes sizes);

  int rank() const { return rank_; }
  int size() const { return size_; }
  int wrap(int rank) const { return ((rank % size_) + size_) % size_; }

  // Edges. Each (peer, direction, index) has one lane that uses it.
  Operand to(int peer, int index = 0) { return edge(peer, index, true, false); }
  Operand from(int peer, int index = 0) { return edge(peer, index, false, false); }
  Operand token_to(int peer, int index = 0) { return edge(peer, index, true, true); }
  Operand token_from(int peer, int index = 0) { return edge(peer, index, false, true); }
  // A peer's buffers through windows.
  Operand peer_in(int peer, std::int32_t block = Operand::kHere) const;
  Operand peer_out(int peer, std::int32_t block = Operand::kHere) const;

  // Begins a lane, in its body; prologue, body, epilogue follow in that order.
  void lane(int part = 0, bool own_loops = false);
  void prologue();
  void body();
  void epilogue();

  // Copies or reduces the sources, in this order, into every target.
  void move(std::int32_t block, const Operands& sources, const Operands& targets,
            std::uint16_t flags = 0);
  void wait(const Operands& tokens);
  void post(const Operands& tokens);

 private:
  Operand edge(int peer, int index, bool outgoing, bool token);
  Ref resolve(const Operand& operand, std::int32_t block) const;
  std::uint32_t& section_length();
  void append(Move move);
  bool continues(const Move& last, const Move& next) const;

  enum class Section { prologue, body, epilogue };
  Program& program_;
  int rank_, size_;
  Section section_ = Section::body;
};

// One operand per rank, in rank order: `own` for this rank, of(peer) for every other.
template <class Of>
Operands in_rank_order(const Emitter& e, Operand own, Of of) {
  Operands operands;
  for (int rank = 0; rank < e.size(); ++rank) operands.push_back(rank == e.rank() ? own : of(rank));
  return operands;
}

// of(peer) for every other rank, the next one first, so that no rank is everybody's first.
template <class Of>
Operands of_others(const Emitter& e, Of of) {
  Operands operands;
  for (int k = 1; k < e.size(); ++k) operands.push_back(of(e.wrap(e.rank() + k)));
  return operands;
}

inline Operands operator+(Operands all, const Operands& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace gyre
