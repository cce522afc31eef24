// Prepares and judges the buffers of one operation. Knows segments, poison and guards; asks the
// Oracle for values. Does not run anything.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/buffers.h"
#include "bench/collective.h"
#include "bench/oracle.h"

namespace perf {

// Where one slot's operation finds its data: two buffers, or parts of one when in place.
struct Placement {
  std::byte* send;
  std::byte* recv;
  std::size_t send_bytes;
  std::size_t recv_bytes;
};

class Verifier {
 public:
  Verifier(const Collective& collective, const Shape& shape, const TypeInfo& type, Op op,
           std::uint64_t seed);

  // Receive side poisoned with its guards, then the send side filled (they may overlap).
  void prepare(const Buffer& send, const Buffer& recv, std::size_t slot, bool in_place) const;
  // Elements of the result that are not what they must be, with touched guards counted as one each.
  std::int64_t count_wrong(const Buffer& recv, std::size_t slot, bool in_place) const;

  Placement place(const Buffer& send, const Buffer& recv, std::size_t slot, bool in_place) const;

 private:
  std::size_t span_bytes(bool in_place) const;  // of the receive buffer's slot
  std::size_t blocks_bytes(Blocks blocks) const;

  const Collective& collective_;
  Shape shape_;
  TypeInfo type_;
  Oracle oracle_;
  std::vector<Segment> segments_;
};

}  // namespace perf
