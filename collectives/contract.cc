#include "collectives/contract.h"

namespace gyre {

using C = Collective;

// all_to_all's pieces are (source, target) pairs; everyone else's are block numbers. Of point to
// point, root is the sender.
std::optional<Content> Contract::before(int rank, int block) const {
  const bool root_only = collective == C::broadcast || collective == C::scatter ||
                         collective == C::send || collective == C::recv;
  const bool own_block_only =
      collective == C::all_gather || collective == C::all_gather_v || collective == C::gather;
  if (collective == C::barrier) return {};
  if (root_only && rank != root) return {};
  if (own_block_only && block != rank) return {};
  if (collective == C::all_to_all || collective == C::all_to_all_v) {
    if (block >= size) return {};
    return Content{rank * size + block, rank};
  }
  return Content{block, rank};
}

std::optional<Content> Contract::after(int rank, int block) const {
  switch (collective) {
    case C::all_reduce:
      return Content{block, Content::kEveryone};
    case C::reduce:
      if (rank != root) return {};
      return Content{block, Content::kEveryone};
    case C::reduce_scatter:
    case C::reduce_scatter_v:
      if (block != rank) return {};
      return Content{block, Content::kEveryone};
    case C::broadcast:
      return Content{block, root};
    case C::all_gather:
    case C::all_gather_v:
      return Content{block, block};
    case C::gather:
      if (rank != root) return {};
      return Content{block, block};
    case C::scatter:
      if (block != rank) return {};
      return Content{block, root};
    case C::all_to_all:
      return Content{block * size + rank, block};
    case C::all_to_all_v:
      if (block < size) return {};
      return Content{(block - size) * size + rank, block - size};
    case C::send:
    case C::recv:
      if (rank == root && size > 1) return {};
      return Content{block, root};
    case C::barrier:
      return {};
  }
  return {};
}

bool Contract::allows_in_place() const {
  return collective != C::all_to_all && collective != C::all_to_all_v && collective != C::send &&
         collective != C::recv && collective != C::barrier;
}

bool Contract::in_place_block(int rank, int block) const {
  return allows_in_place() && before(rank, block) && after(rank, block);
}

std::int32_t Contract::extent_key(int rank, int block) const {
  if (collective == C::all_to_all) return 0;
  if (collective != C::all_to_all_v) return block;
  return block < size ? rank * size + block : (block - size) * size + rank;
}

}  // namespace gyre
