// Binding: from a request and a program to a Work: block sizes, virtual bases, offsets, loops.
// Knows how each collective lays out its buffers. Does not know links.
#pragma once

#include "collectives/plan.h"
#include "core/request.h"
#include "exec/work.h"

namespace gyre {

// Storage for the tables that an uneven Work points to; reused from call to call.
struct UnevenTables {
  std::vector<std::uint64_t> counts, input_offsets, output_offsets;
};

// What the user's call says about itself, for the wire.
CallSignature signature_of(const Request& request, std::uint64_t sequence);

// Bytes of the message that one rank sends to one other when all is sent directly: what decides
// whether a call is small.
std::size_t message_bytes(const Request& request);

// Needs: program is built for request's collective. chunk_bytes: most bytes of one chunk.
Work bind_work(const Request& request, const Program& program, int rank, int size,
               std::size_t chunk_bytes, UnevenTables& tables);

}  // namespace gyre
