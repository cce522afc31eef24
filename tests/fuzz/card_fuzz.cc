// Any bytes as a peer's card, as entries of a gathered frame, and as frames of a neighbour.
#include "base/check.h"
#include "core/doorway.h"
#include "core/entries.h"
#include "core/neighbour.h"

#include <sys/socket.h>

namespace {

void feed_neighbour(std::span<const std::byte> bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  const gyre::Address nowhere = gyre::Address::abstract_unix("fuzz");
  gyre::Socket theirs(gyre::Fd(ends[1]), nowhere);
  gyre::Neighbour neighbour(1, gyre::Socket(gyre::Fd(ends[0]), nowhere));
  (void)theirs.send_some(bytes);
  theirs = gyre::Socket();
  while (neighbour.read()) {
    if (!neighbour.has_frame()) break;  // a good-bye
    (void)neighbour.take_frame();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (bytes.size() > 16384) return 0;
  if (auto card = gyre::unpack_card(bytes.first(std::min(bytes.size(), sizeof(gyre::PeerCard)))))
    for (const char c : gyre::where_text(*card)) GYRE_CHECK(c >= ' ' && c <= '~');
  if (auto entries = gyre::split_entries(bytes, 3)) GYRE_CHECK(entries->size() == 3);
  feed_neighbour(bytes);
  return 0;
}
