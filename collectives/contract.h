// Contracts: what every rank's buffers hold before a collective and must hold after it.
// Knows pieces of data by name. Does not know algorithms.
#pragma once

#include <cstdint>
#include <optional>

#include "collectives/plan.h"

namespace gyre {

// What a block holds: which piece, and of whom.
struct Content {
  static constexpr int kEveryone = -1;
  std::int32_t piece = 0;
  int contributor = 0;  // the one rank whose data it is, or everyone's, combined
  bool operator==(const Content&) const = default;
};

struct Contract {
  Collective collective = Collective::all_reduce;
  int size = 1;
  int root = 0;

  // nullopt: that block is not there and must not be touched.
  std::optional<Content> before(int rank, int block) const;  // of the input
  std::optional<Content> after(int rank, int block) const;   // of the output
  // In place, the two share memory.
  bool in_place_block(int rank, int block) const;
  bool allows_in_place() const;
  // Blocks with equal keys have equal extents, whatever the counts; others may differ.
  std::int32_t extent_key(int rank, int block) const;
};

}  // namespace gyre
