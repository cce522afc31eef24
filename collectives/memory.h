// The buffers of all ranks in abstract, with who touched each chunk last. Knows aliasing (in place)
// and which accesses need an order. Does not know how orders arise.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/contract.h"
#include "collectives/wiring.h"

namespace gyre {

// A lane at one of its turns.
struct Moment {
  int lane = -1;
  std::uint32_t turn = 0;
};

struct Cell {
  int value = -1;  // of Values; -1: nothing there yet
  Moment wrote;
  std::vector<Moment> reads;  // since then, the last of each lane
};

class Memory {
 public:
  Memory(const Contract& contract, std::span<const Program> programs, int loops, bool in_place);

  Cell& at(int rank, bool output, std::int32_t block, std::uint64_t loop, int part) {
    const bool alias = in_place_ && contract_.in_place_block(rank, block);
    const auto ranked = static_cast<std::size_t>(rank) * 2 + (output || alias ? 1 : 0);
    const auto block_at = ranked * blocks_ + static_cast<std::size_t>(block);
    return cells_[(block_at * loops_ + loop) * parts_ + static_cast<std::size_t>(part)];
  }

 private:
  const Contract& contract_;
  bool in_place_;
  std::size_t blocks_, loops_, parts_;
  std::vector<Cell> cells_;
};

// True when a lane touches a peer's buffers, or some chunk is touched by more than one lane.
bool order_matters(const Contract& contract, std::span<const Program> programs,
                   const Wiring& wiring, bool in_place);

// Whose memory a data ref touches, and which buffer.
inline bool touches_memory(const Ref& ref) {
  return ref.place != Place::fifo && ref.place != Place::token && ref.place != Place::scratch;
}
inline bool is_peer(const Ref& ref) {
  return ref.place == Place::peer_input || ref.place == Place::peer_output;
}
inline bool is_output(const Ref& ref) {
  return ref.place == Place::output || ref.place == Place::peer_output;
}
inline int owner_of(int rank, const Ref& ref) { return is_peer(ref) ? ref.edge : rank; }

}  // namespace gyre
