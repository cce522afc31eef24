#include "transport/auth.h"

#include <poll.h>
#include <sodium.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace gyre {

namespace {

// The handshake's own version; it is frozen, so that ranks of different protocol versions can still
// tell each other so in authenticated Hellos.
constexpr std::uint16_t kHandshakeVersion = 1;
constexpr std::uint32_t kMagic = 0x65727967;  // "gyre"

struct Opening {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kHandshakeVersion;
  std::uint16_t reserved = 0;
  std::array<std::uint8_t, 32> nonce{};
  Hello hello;
};
static_assert(sizeof(Opening) == 80);
static_assert(offsetof(Opening, version) == 4, "older and newer versions read this prefix");

constexpr std::size_t kOpeningBytes = sizeof(Opening);
constexpr std::size_t kProofBytes = sizeof(Key);
constexpr std::size_t kReplyBytes = kOpeningBytes + kProofBytes;
constexpr std::size_t kPrefixBytes = 8;
constexpr std::size_t kDoneBytes = 1;

void ensure_sodium() {
  [[maybe_unused]] static const int ready = sodium_init();  // safe to call again from any thread
}

void hash_into(std::span<std::uint8_t> out, std::span<const std::uint8_t> key,
               std::initializer_list<std::span<const std::uint8_t>> parts) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, key.data(), key.size(), out.size());
  for (const auto& part : parts) crypto_generichash_update(&state, part.data(), part.size());
  crypto_generichash_final(&state, out.data(), out.size());
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::array<std::uint8_t, kOpeningBytes> make_opening(const Hello& hello) {
  Opening opening;
  fill_random(opening.nonce);
  opening.hello = hello;
  std::array<std::uint8_t, kOpeningBytes> out;
  std::memcpy(out.data(), &opening, sizeof opening);
  return out;
}

Hello hello_in(std::span<const std::uint8_t> opening) {
  Hello out;
  std::memcpy(&out, opening.data() + offsetof(Opening, hello), sizeof out);
  return out;
}

}  // namespace

void fill_random(std::span<std::uint8_t> bytes) {
  ensure_sodium();
  randombytes_buf(bytes.data(), bytes.size());
}

Secret random_secret() {
  Secret out;
  fill_random(out);
  return out;
}

Key derive_key(std::span<const std::uint8_t> secret, std::string_view label) {
  ensure_sodium();
  Key out;
  hash_into(out, secret, {bytes_of(label)});
  return out;
}

std::uint64_t hash64(std::span<const std::uint8_t> bytes, std::string_view label) {
  ensure_sodium();
  std::array<std::uint8_t, 16> digest;
  hash_into(digest, {}, {bytes_of(label), bytes});
  std::uint64_t out;
  std::memcpy(&out, digest.data(), sizeof out);
  return out;
}

Handshake::Handshake(Socket socket, const Key& key, const Hello& mine, bool dialer)
    : socket_(std::move(socket)),
      key_(key),
      dialer_(dialer),
      stage_(dialer ? Stage::connect : Stage::recv_opening),
      state_(dialer ? State::want_write : State::want_read),
      mine_(mine) {
  ensure_sodium();
}

Handshake Handshake::dial(Socket socket, const Key& key, const Hello& mine) {
  return Handshake(std::move(socket), key, mine, true);
}

Handshake Handshake::answer(Socket socket, const Key& key, const Hello& mine) {
  return Handshake(std::move(socket), key, mine, false);
}

short Handshake::poll_events() const { return state_ == State::want_write ? POLLOUT : POLLIN; }

Handshake::State Handshake::step() {
  while (state_ == State::want_read || state_ == State::want_write) {
    bool blocked = false;
    if (Status status = advance(blocked); !status) {
      error_ = status.take_error();
      socket_ = Socket(Fd(), socket_.remote());  // closed at once; who it was is still asked for
      state_ = State::failed;
    }
    if (blocked) break;
  }
  return state_;
}

Status Handshake::advance(bool& blocked) {
  return dialer_ ? advance_dialer(blocked) : advance_answerer(blocked);
}

// Moves the rest of the frame under way; sets blocked when the socket has no more for now.
Status Handshake::move_bytes(bool send, std::size_t frame_bytes, bool& blocked) {
  while (moved_ < frame_bytes) {
    const auto rest =
        std::as_writable_bytes(std::span(frame_)).subspan(moved_, frame_bytes - moved_);
    const std::size_t moved = GYRE_TRY(send ? socket_.send_some(rest) : socket_.recv_some(rest));
    if (moved == 0) {
      state_ = send ? State::want_write : State::want_read;
      blocked = true;
      return {};
    }
    moved_ += moved;
    if (!send && moved_ >= kPrefixBytes && frame_bytes > kProofBytes)
      GYRE_TRY(check_prefix(std::span(frame_).first(moved_)));
  }
  moved_ = 0;
  return {};
}

Status Handshake::check_prefix(std::span<const std::uint8_t> frame) const {
  Opening opening;
  std::memcpy(static_cast<void*>(&opening), frame.data(), kPrefixBytes);
  if (opening.magic != kMagic)
    return error(Code::invalid_usage, "{} does not speak gyre", socket_.remote().text());
  if (opening.version != kHandshakeVersion)
    return error(Code::invalid_usage,
                 "{} speaks gyre handshake version {}, this library version {}",
                 socket_.remote().text(), opening.version, kHandshakeVersion);
  return {};
}

Key Handshake::proof(bool of_dialer) const {
  Key out;
  hash_into(out, key_, {bytes_of(of_dialer ? "dialer" : "answer"), opening_, reply_});
  return out;
}

Status Handshake::advance_dialer(bool& blocked) {
  switch (stage_) {
    case Stage::connect:
      if (pollfd entry{socket_.fd(), POLLOUT, 0}; ::poll(&entry, 1, 0) == 0) {
        blocked = true;
        return {};
      }
      GYRE_TRY(socket_.finish());
      opening_ = make_opening(mine_);
      std::copy(opening_.begin(), opening_.end(), frame_.begin());
      stage_ = Stage::send_opening;
      return {};
    case Stage::send_opening:
      GYRE_TRY(move_bytes(true, kOpeningBytes, blocked));
      if (!blocked) stage_ = Stage::recv_reply;
      return {};
    case Stage::recv_reply: {
      GYRE_TRY(move_bytes(false, kReplyBytes, blocked));
      if (blocked) return {};
      std::copy_n(frame_.begin(), kOpeningBytes, reply_.begin());
      const Key expected = proof(false);
      if (sodium_memcmp(expected.data(), frame_.data() + kOpeningBytes, kProofBytes) != 0)
        return error(Code::invalid_usage,
                     "{} belongs to another job: it does not know this job's secret",
                     socket_.remote().text());
      const Key own = proof(true);
      std::copy(own.begin(), own.end(), frame_.begin());
      stage_ = Stage::send_proof;
      return {};
    }
    case Stage::send_proof:
      GYRE_TRY(move_bytes(true, kProofBytes, blocked));
      if (!blocked) stage_ = Stage::recv_done;
      return {};
    default:
      GYRE_TRY(move_bytes(false, kDoneBytes, blocked));
      if (!blocked) finish_with(reply_);
      return {};
  }
}

Status Handshake::advance_answerer(bool& blocked) {
  switch (stage_) {
    case Stage::recv_opening: {
      GYRE_TRY(move_bytes(false, kOpeningBytes, blocked));
      if (blocked) return {};
      std::copy_n(frame_.begin(), kOpeningBytes, opening_.begin());
      reply_ = make_opening(mine_);
      std::copy(reply_.begin(), reply_.end(), frame_.begin());
      const Key own = proof(false);
      std::copy(own.begin(), own.end(), frame_.begin() + kOpeningBytes);
      stage_ = Stage::send_reply;
      return {};
    }
    case Stage::send_reply:
      GYRE_TRY(move_bytes(true, kReplyBytes, blocked));
      if (!blocked) stage_ = Stage::recv_proof;
      return {};
    case Stage::recv_proof: {
      GYRE_TRY(move_bytes(false, kProofBytes, blocked));
      if (blocked) return {};
      const Key expected = proof(true);
      if (sodium_memcmp(expected.data(), frame_.data(), kProofBytes) != 0)
        return error(Code::invalid_usage,
                     "{} belongs to another job: it does not know this job's secret",
                     socket_.remote().text());
      stage_ = Stage::send_done;
      return {};
    }
    default:
      GYRE_TRY(move_bytes(true, kDoneBytes, blocked));
      if (!blocked) finish_with(opening_);
      return {};
  }
}

void Handshake::finish_with(std::span<const std::uint8_t> peer_opening) {
  peer_ = hello_in(peer_opening);
  hash_into(session_key_, key_, {bytes_of("session"), opening_, reply_});
  state_ = State::done;
}

namespace {

Result<Greeted> run(Handshake handshake, const Until& until) {
  for (;;) {
    // A connect under way must not be asked for its result before poll says it has one.
    GYRE_TRY_WHILE(wait_ready(handshake.fd(), handshake.poll_events(), until, "handshake"),
                   "greeting {}", handshake.socket().ends());
    switch (handshake.step()) {
      case Handshake::State::done:
        return Greeted{handshake.take_socket(), handshake.peer(), handshake.session_key()};
      case Handshake::State::failed:
        return handshake.take_error();
      default:
        break;
    }
  }
}

}  // namespace

Result<Greeted> dial(Socket socket, const Key& key, const Hello& mine, const Until& until) {
  return run(Handshake::dial(std::move(socket), key, mine), until);
}

Result<Greeted> answer(Socket socket, const Key& key, const Hello& mine, const Until& until) {
  return run(Handshake::answer(std::move(socket), key, mine), until);
}

}  // namespace gyre
