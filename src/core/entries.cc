#include "core/entries.h"

#include <cstdint>
#include <cstring>

namespace gyre {

void append_entry(Blob& into, int rank, std::span<const std::byte> bytes) {
  const std::uint32_t head[2] = {static_cast<std::uint32_t>(rank),
                                 static_cast<std::uint32_t>(bytes.size())};
  const auto head_bytes = std::as_bytes(std::span(head));
  into.insert(into.end(), head_bytes.begin(), head_bytes.end());
  into.insert(into.end(), bytes.begin(), bytes.end());
}

Result<std::vector<Blob>> split_entries(std::span<const std::byte> bytes, int size) {
  std::vector<Blob> out(static_cast<std::size_t>(size));
  std::vector<bool> seen(out.size());
  int count = 0;
  while (!bytes.empty()) {
    std::uint32_t head[2];
    if (bytes.size() < sizeof head) break;
    std::memcpy(head, bytes.data(), sizeof head);
    bytes = bytes.subspan(sizeof head);
    if (head[0] >= out.size() || head[1] > bytes.size() || seen[head[0]])
      return error(Code::internal, "a gathered frame is damaged at rank {}", head[0]);
    const auto mine = bytes.first(head[1]);
    out[head[0]].assign(mine.begin(), mine.end());
    seen[head[0]] = true;
    ++count;
    bytes = bytes.subspan(head[1]);
  }
  if (!bytes.empty() || count != size)
    return error(Code::internal, "a gathered frame holds {} of {} ranks", count, size);
  return out;
}

}  // namespace gyre
