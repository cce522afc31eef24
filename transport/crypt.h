// A wire that nobody else can read or change: records of ChaCha20-Poly1305 over another wire, under
// the session key of the connection. Knows records and keys. Does not know frames, nor who agreed
// on the key.
#pragma once

#include <memory>

#include "transport/auth.h"
#include "transport/wire.h"

namespace gyre {

// GYRE_TCP_ENCRYPT.
bool tcp_encryption();

// `session_key` is fresh per connection; `lower` is true at exactly one of the two ends.
// A record that was changed, repeated or left out breaks the wire (EBADMSG).
std::unique_ptr<Wire> make_crypt_wire(std::unique_ptr<Wire> inner, const Key& session_key,
                                      bool lower);

}  // namespace gyre
