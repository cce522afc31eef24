#include "collectives/plan.h"

#include "base/check.h"

namespace gyre {

Layout single_host_layout(int size) {
  Layout layout{.size = size, .hosts = {{}}};
  for (int rank = 0; rank < size; ++rank) layout.hosts[0].push_back(rank);
  return layout;
}

std::int32_t block_at(const Program& program, const Move& move, const Ref& ref, int turn) {
  if (ref.place == Place::token) return 0;
  const std::int32_t modulus =
      ref.place == Place::scratch ? program.scratch_blocks : program.blocks;
  const std::int64_t moved = ref.block + static_cast<std::int64_t>(move.block_step) * turn;
  return static_cast<std::int32_t>(((moved % modulus) + modulus) % modulus);
}

std::int32_t extent_block(const Program& program, const Move& move) {
  const Ref* ref = &program.refs[move.ref + move.waits];
  for (int i = 0; i < move.sources + move.targets; ++i)
    if (ref[i].place != Place::scratch) return ref[i].block;
  check_failed("a move with data touches a block", __FILE__, __LINE__);
}

}  // namespace gyre
