// The frames that a pump sends over a wire. Knows their layout. Does not know when they are sent.
#pragma once

#include <cstdint>

#include "transport/link.h"

namespace gyre {

enum class PumpFrameKind : std::uint16_t { data = 0x6401, credit, open, farewell, bye };

// Little-endian hosts alone are supported (checked by the handshake's version).
struct PumpFrame {
  PumpFrameKind kind;
  EdgeKind edge_kind;
  std::uint8_t unused;
  std::uint16_t index;
  std::uint16_t unused2;
  std::uint32_t bytes;  // that follow
  std::uint32_t extra;  // open: slots; farewell: code
  std::uint64_t value;  // data: step; credit: slots consumed; open: slot_bytes; farewell: culprit
  CallSignature call;
};
static_assert(sizeof(PumpFrame) == 40);

}  // namespace gyre
