// A request: one call of the user, checked and stored. Knows what was asked. Does not know how it
// is done.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/dtype.h"

namespace gyre {

// The scalar of a pre-multiplied sum.
struct PremulScalar {
  Type type = Type::f32;
  std::array<std::byte, 8> value{};  // host-immediate: read at creation
  const void* pointer = nullptr;     // else read from here when the collective runs
};

// Counts and offsets of a V-collective, copied: a stream may run it after the call has returned.
struct Uneven {
  std::vector<std::size_t> send_counts, send_offsets;  // by rank; all that all_gather_v etc. need
  std::vector<std::size_t> recv_counts, recv_offsets;  // all_to_all_v alone
};

struct Request {
  Collective what = Collective::barrier;
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;  // elements per block, as the user gave them
  Type type = Type::u8;
  Op op = Op::sum;
  int root = 0;  // the peer for send and recv
  PremulScalar scalar;
  std::shared_ptr<const Uneven> uneven;  // of a V-collective
};

inline bool is_point_to_point(Collective what) {
  return what == Collective::send || what == Collective::recv;
}
inline bool is_rooted(Collective what) {
  return what == Collective::broadcast || what == Collective::reduce ||
         what == Collective::gather || what == Collective::scatter;
}
inline bool is_uneven(Collective what) {
  return what == Collective::all_gather_v || what == Collective::reduce_scatter_v ||
         what == Collective::all_to_all_v;
}

}  // namespace gyre
