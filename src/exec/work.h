// A Work: what a call adds to a Program. Pointers, counts, type, operator and signature.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "collectives/geometry.h"
#include "transport/signature.h"

namespace gyre {

class Link;

// How a peer's buffers are reached in this call, each for itself: by pointer, or where that is null
// by single copy through the link. Bases are virtual, as Work's are.
struct PeerWindow {
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::uint64_t remote_input = 0;
  std::uint64_t remote_output = 0;
  Link* link = nullptr;
};

struct Work {
  CallSignature call;
  Type type = Type::u8;
  Op op = Op::sum;
  int rank = -1;                // this one, for messages
  int ranks = 1;                // avg divides by it
  const void* scale = nullptr;  // this rank's scalar of a pre-multiplied sum
  // Virtual bases: block b of a buffer begins at base + offset(b) elements, also where the buffer
  // holds but one block (all_gather's input, reduce_scatter's output), so that blocks need no
  // special case.
  std::uintptr_t input = 0;
  std::uintptr_t output = 0;
  const std::uint64_t* input_offsets = nullptr;  // elements per block; nullptr: block * block_elems
  const std::uint64_t* output_offsets = nullptr;
  const PeerWindow* windows = nullptr;  // by rank, for peer_* places
  Geometry geometry;
  std::uint64_t loops_min = 0;  // 1: an empty message is still one step on its edges
  bool streaming = false;
  // The call's first exchange is with all ranks and takes one step on every edge: a mismatch is
  // reported without losing step, and the communicator stays usable.
  bool tolerant = false;
};

}  // namespace gyre
