#include "collectives/memory.h"

namespace gyre {

Memory::Memory(const Contract& contract, std::span<const Program> programs, int loops,
               bool in_place)
    : contract_(contract),
      in_place_(in_place),
      blocks_(static_cast<std::size_t>(programs[0].blocks)),
      loops_(static_cast<std::size_t>(loops)),
      parts_(programs[0].parts),
      cells_(programs.size() * 2 * blocks_ * loops_ * parts_) {}

bool order_matters(const Contract& contract, std::span<const Program> programs,
                   const Wiring& wiring, bool in_place) {
  Memory memory(contract, programs, 1, in_place);
  for (int id = 0; id < static_cast<int>(wiring.lanes.size()); ++id) {
    const auto [rank, index] = wiring.lanes[static_cast<std::size_t>(id)];
    const Program& p = programs[static_cast<std::size_t>(rank)];
    const Lane& lane = p.lanes[static_cast<std::size_t>(index)];
    for (Cursor c(p, lane, 1); !c.done(); c.next()) {
      const Move& move = c.move();
      for (int i = 0; i < move.sources + move.targets; ++i) {
        const Ref& ref = p.refs[move.ref + move.waits + static_cast<unsigned>(i)];
        if (!touches_memory(ref)) continue;
        if (is_peer(ref)) return true;
        Cell& cell = memory.at(owner_of(rank, ref), is_output(ref),
                               block_at(p, move, ref, c.turn()), 0, lane.part);
        if (cell.wrote.lane >= 0 && cell.wrote.lane != id) return true;
        cell.wrote.lane = id;
      }
    }
  }
  return false;
}

}  // namespace gyre
