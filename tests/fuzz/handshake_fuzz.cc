// A stranger's bytes on both sides of a handshake: it must end or wait, and never be done.
#include "base/check.h"
#include "transport/auth.h"

#include <sys/socket.h>

namespace {

void feed(bool dialer, std::span<const std::byte> bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  const gyre::Address nowhere = gyre::Address::abstract_unix("fuzz");
  gyre::Socket ours(gyre::Fd(ends[0]), nowhere), theirs(gyre::Fd(ends[1]), nowhere);
  const gyre::Key key = gyre::derive_key(gyre::random_secret(), "fuzz");
  auto handshake = dialer ? gyre::Handshake::dial(std::move(ours), key, {})
                          : gyre::Handshake::answer(std::move(ours), key, {});
  // In two pieces, so that every frame is also seen half there.
  for (const auto piece : {bytes.first(bytes.size() / 2), bytes.subspan(bytes.size() / 2)}) {
    (void)theirs.send_some(piece);
    GYRE_CHECK(handshake.step() != gyre::Handshake::State::done);
  }
  theirs = gyre::Socket();
  GYRE_CHECK(handshake.step() == gyre::Handshake::State::failed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (bytes.size() > 4096) return 0;
  feed(true, bytes);
  feed(false, bytes);
  return 0;
}
