// The signature of a call: what every rank must agree on, in 16 bytes that ride with each slot, so
// that a mismatch is seen at the first message and both calls can be named.
#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.h"

namespace gyre {

struct CallSignature {
  std::uint64_t what = 0;   // collective, type, op, root, low bits of the sequence number
  std::uint64_t count = 0;  // elements, as the user gave them
  bool operator==(const CallSignature&) const = default;

  Collective collective() const { return static_cast<Collective>(what & 0xff); }
  Type type() const { return static_cast<Type>(what >> 8 & 0xff); }
  Op op() const { return static_cast<Op>(what >> 16 & 0xff); }
  int root() const { return static_cast<int>(what >> 24 & 0xfffff); }
  std::uint64_t sequence() const { return what >> 44; }
};
inline constexpr std::uint64_t kSequenceMask = (std::uint64_t{1} << 20) - 1;

inline CallSignature make_signature(Collective collective, Type type, Op op, int root,
                                    std::uint64_t sequence, std::uint64_t count) {
  return {static_cast<std::uint64_t>(collective) | static_cast<std::uint64_t>(type) << 8 |
              static_cast<std::uint64_t>(op) << 16 |
              (static_cast<std::uint64_t>(root) & 0xfffff) << 24 | (sequence & kSequenceMask) << 44,
          count};
}

// "all_reduce #17 of 1000 float32, sum"
std::string to_text(const CallSignature& call);

}  // namespace gyre
