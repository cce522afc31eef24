#include "bench/verify.h"

#include <algorithm>

namespace perf {

Verifier::Verifier(const Collective& collective, const Shape& shape, const TypeInfo& type, Op op,
                   std::uint64_t seed)
    : collective_(collective),
      shape_(shape),
      type_(type),
      oracle_(type, op, shape.ranks, seed),
      segments_(collective.segments(shape)) {}

std::size_t Verifier::blocks_bytes(Blocks blocks) const {
  return block_count(blocks, shape_.ranks) * shape_.count * type_.bytes;
}

std::size_t Verifier::span_bytes(bool in_place) const {
  const std::size_t received = blocks_bytes(collective_.received);
  return in_place ? std::max(received, blocks_bytes(collective_.sent)) : received;
}

Placement Verifier::place(const Buffer& send, const Buffer& recv, std::size_t slot,
                          bool in_place) const {
  Placement placement{send.slot(slot), recv.slot(slot), blocks_bytes(collective_.sent),
                      blocks_bytes(collective_.received)};
  if (!in_place) return placement;
  placement.send = placement.recv;
  const std::size_t own = static_cast<std::size_t>(shape_.rank) * shape_.count * type_.bytes;
  if (collective_.in_place == InPlace::send_in_recv) placement.send += own;
  if (collective_.in_place == InPlace::recv_in_send) placement.recv += own;
  return placement;
}

void Verifier::prepare(const Buffer& send, const Buffer& recv, std::size_t slot,
                       bool in_place) const {
  recv.poison(slot, span_bytes(in_place));
  const Placement placement = place(send, recv, slot, in_place);
  const std::size_t count = placement.send_bytes / type_.bytes;
  if (collective_.reduces) {
    oracle_.fill_operand(placement.send, 0, count, shape_.rank);
  } else {
    oracle_.fill_cargo(placement.send, 0, count, shape_.rank);
  }
}

std::int64_t Verifier::count_wrong(const Buffer& recv, std::size_t slot, bool in_place) const {
  const Placement placement = place(recv, recv, slot, in_place);
  auto wrong = static_cast<std::int64_t>(recv.broken_guards(slot, span_bytes(in_place)));
  for (const Segment& segment : segments_) {
    const std::byte* at = placement.recv + segment.at * type_.bytes;
    wrong += segment.source == Segment::kReduction
                 ? oracle_.wrong_reduced(at, segment.from, segment.count)
                 : oracle_.wrong_cargo(at, segment.from, segment.count, segment.source);
  }
  // A rank without a result must find its receive buffer as it left it.
  if (segments_.empty() && !in_place)
    wrong += placement.recv_bytes == 0
                 ? 0
                 : std::count_if(placement.recv, placement.recv + placement.recv_bytes,
                                 [](std::byte b) { return b != kPoison; });
  return wrong;
}

}  // namespace perf
