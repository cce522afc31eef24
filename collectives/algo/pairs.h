// Folding: how an algorithm for powers of two serves any n. The first ranks pair up so that a power
// of two of groups is left; the main rank of a pair acts for its helper. Groups are in rank order.
#pragma once

#include <bit>

#include "collectives/emit.h"

namespace gyre::algo {

struct Pairs {
  int groups;  // the largest power of two <= n
  int extra;   // groups [0, extra) have a helper
  explicit Pairs(int n)
      : groups(static_cast<int>(std::bit_floor(static_cast<unsigned>(n)))), extra(n - groups) {}

  int group_of(int rank) const { return rank < 2 * extra ? rank / 2 : rank - extra; }
  int main_of(int group) const { return group < extra ? 2 * group : group + extra; }
  bool has_helper(int group) const { return group < extra; }
  bool is_helper(int rank) const { return rank < 2 * extra && rank % 2 == 1; }
  // The ranks of a group, main first; -1 where there is none. Groups have up to kMembers.
  static constexpr int kMembers = 2;
  int member(int group, int i) const {
    return i == 0 || has_helper(group) ? main_of(group) + i : -1;
  }
};

}  // namespace gyre::algo
