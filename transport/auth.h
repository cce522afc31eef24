// Who is calling: a mutual challenge-response keyed by the job's secret, the first bytes on every
// connection. Knows frames, keys and the small Hello that rides along, authenticated. Does not know
// what ranks do afterwards, nor what a comm id means.
//
//   dialer -> answerer  Opening {magic, version, nonce, hello}
//   answerer -> dialer  Reply   {magic, version, nonce, hello, proof}   keyed hash over all of it
//   dialer -> answerer  Proof   {proof}                                 same, other role
//   answerer -> dialer  one byte: a dialer that is done knows that the answerer is
//
// Frames have fixed sizes, so no length field of a stranger is ever obeyed.
#pragma once

#include "base/result.h"
#include "transport/socket.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace gyre {

using Secret = std::array<std::uint8_t, 16>;
using Key = std::array<std::uint8_t, 32>;
using Token = std::array<std::uint8_t, 16>;  // random name of one process's doorway

// What ranks speak after the handshake; differs when anything on the wire below it changes.
inline constexpr std::uint16_t kProtocolVersion = 1;

enum class Purpose : std::uint16_t { join = 1, bootstrap = 2, link = 3, probe = 4 };

// The caller's card, believed only once the handshake is done.
struct Hello {
  Purpose purpose = Purpose::link;
  std::uint16_t protocol = kProtocolVersion;
  std::int32_t rank = -1;
  std::uint64_t comm = 0;
  std::uint32_t lane = 0;
  std::uint32_t reserved = 0;
  Token token{};
};
static_assert(sizeof(Hello) == 40);

void fill_random(std::span<std::uint8_t> bytes);
Secret random_secret();
// One-way: `label` keeps keys for different uses apart.
Key derive_key(std::span<const std::uint8_t> secret, std::string_view label);
std::uint64_t hash64(std::span<const std::uint8_t> bytes, std::string_view label);

// One side of one handshake as a state machine over a non-blocking socket, so that one thread can
// run many. Owns the socket until take_socket().
class Handshake {
 public:
  enum class State { want_read, want_write, done, failed };

  // Needs: `socket` may still be connecting.
  static Handshake dial(Socket socket, const Key& key, const Hello& mine);
  static Handshake answer(Socket socket, const Key& key, const Hello& mine);

  // Goes as far as the socket allows; never waits.
  State step();
  State state() const { return state_; }
  short poll_events() const;
  int fd() const { return socket_.fd(); }
  const Socket& socket() const { return socket_; }

  // Needs: done.
  const Hello& peer() const { return peer_; }
  const Key& session_key() const { return session_key_; }
  Socket take_socket() { return std::move(socket_); }
  // Needs: failed. invalid_usage: another version or another job; remote and system: the
  // connection.
  Error take_error() { return std::move(error_); }

 private:
  enum class Stage {
    connect,
    send_opening,
    recv_reply,
    send_proof,
    recv_done,
    recv_opening,
    send_reply,
    recv_proof,
    send_done
  };

  Handshake(Socket socket, const Key& key, const Hello& mine, bool dialer);
  Status advance(bool& blocked);
  Status advance_dialer(bool& blocked);
  Status advance_answerer(bool& blocked);
  Status move_bytes(bool send, std::size_t frame_bytes, bool& blocked);
  Status check_prefix(std::span<const std::uint8_t> frame) const;
  Key proof(bool of_dialer) const;
  void finish_with(std::span<const std::uint8_t> peer_opening);

  Socket socket_;
  Key key_;
  bool dialer_;
  Stage stage_;
  State state_;
  std::array<std::uint8_t, 160> frame_{};  // the frame under way
  std::size_t moved_ = 0;                  // bytes of it sent or received
  std::array<std::uint8_t, 80> opening_{};
  std::array<std::uint8_t, 80> reply_{};  // without its proof
  Hello mine_, peer_;
  Key session_key_{};
  Error error_;
};

// The same, waiting.
struct Greeted {
  Socket socket;
  Hello peer;
  Key session_key;
};
Result<Greeted> dial(Socket socket, const Key& key, const Hello& mine, const Until& until);
Result<Greeted> answer(Socket socket, const Key& key, const Hello& mine, const Until& until);

}  // namespace gyre
