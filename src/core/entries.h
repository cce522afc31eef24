// What a gathered frame holds: (rank, length, bytes) one after the other. Knows the layout alone.
#pragma once

#include "base/result.h"
#include "core/neighbour.h"

#include <cstddef>
#include <span>
#include <vector>

namespace gyre {

void append_entry(Blob& into, int rank, std::span<const std::byte> bytes);
// Every rank of `size` exactly once, in any order. Fails: internal.
Result<std::vector<Blob>> split_entries(std::span<const std::byte> bytes, int size);

}  // namespace gyre
