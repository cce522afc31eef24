#include "transport/crypt.h"

#include <sodium.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/param.h"

namespace gyre {

GYRE_PARAM(tcp_encrypt, bool, false,
           "encrypt what goes over TCP between ranks (ChaCha20-Poly1305); must match on all ranks");

bool tcp_encryption() { return param_tcp_encrypt.get(); }

namespace {

constexpr std::size_t kPlainMax = 16 << 10;
constexpr std::size_t kTagBytes = crypto_aead_chacha20poly1305_ietf_ABYTES;
constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);
constexpr std::size_t kRecordMax = kLengthBytes + kPlainMax + kTagBytes;
static_assert(sizeof(Key) == crypto_aead_chacha20poly1305_ietf_KEYBYTES);

// One direction: its own key, and the number of the next record as nonce, so that none comes twice.
struct Direction {
  Key key;
  std::uint64_t record = 0;

  using Nonce = std::array<std::uint8_t, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;
  Nonce next_nonce() {
    Nonce out{};
    std::memcpy(out.data(), &record, sizeof record);
    ++record;
    return out;
  }
};

class CryptWire final : public Wire {
 public:
  CryptWire(std::unique_ptr<Wire> inner, const Key& session_key, bool lower)
      : inner_(std::move(inner)),
        out_{derive_key(session_key, lower ? "tcp from lower" : "tcp from upper")},
        in_{derive_key(session_key, lower ? "tcp from upper" : "tcp from lower")},
        sealed_(kRecordMax),
        sealed_in_(kRecordMax),
        plain_(kPlainMax) {}
  ~CryptWire() override {
    sodium_memzero(out_.key.data(), out_.key.size());
    sodium_memzero(in_.key.data(), in_.key.size());
  }

  Moved send(std::span<const iovec> parts) override;
  Moved receive(std::span<const iovec> parts) override;
  Status probe() override { return inner_->probe(); }
  bool arrived() const override { return inner_->arrived(); }
  int descriptor() const override { return inner_->descriptor(); }
  int send_descriptor() const override { return inner_->send_descriptor(); }

 private:
  void seal(std::span<const iovec> parts);
  // The next record into plain_. bytes: 1 when it is there.
  Moved open_next();

  std::unique_ptr<Wire> inner_;
  Direction out_, in_;
  // Sending: a record is offered whole or not at all: its plain bytes count once its last byte has
  // gone, so that nothing stays behind here unknown to the caller, who until then offers them
  // again.
  std::vector<std::uint8_t> sealed_;
  std::size_t sent_ = 0, sealed_bytes_ = 0, sealed_plain_ = 0;
  // Receiving: a record grows in sealed_in_; plain_[plain_first_, plain_last_) waits for its
  // reader.
  std::vector<std::uint8_t> sealed_in_, plain_;
  std::size_t got_ = 0, plain_first_ = 0, plain_last_ = 0;
};

void CryptWire::seal(std::span<const iovec> parts) {
  std::uint8_t* body = sealed_.data() + kLengthBytes;
  std::size_t plain = 0;
  for (const iovec& part : parts) {
    const std::size_t step = std::min(part.iov_len, kPlainMax - plain);
    if (step > 0) std::memcpy(body + plain, part.iov_base, step);
    plain += step;
  }
  const auto length = static_cast<std::uint32_t>(plain);
  std::memcpy(sealed_.data(), &length, kLengthBytes);
  const Direction::Nonce nonce = out_.next_nonce();
  crypto_aead_chacha20poly1305_ietf_encrypt(body, nullptr, body, plain, sealed_.data(),
                                            kLengthBytes, nullptr, nonce.data(), out_.key.data());
  sent_ = 0;
  sealed_bytes_ = kLengthBytes + plain + kTagBytes;
  sealed_plain_ = plain;
}

Moved CryptWire::send(std::span<const iovec> parts) {
  if (sealed_bytes_ == 0) seal(parts);
  while (sent_ < sealed_bytes_) {
    const iovec rest{sealed_.data() + sent_, sealed_bytes_ - sent_};
    const Moved went = inner_->send({&rest, 1});
    if (went.bytes == 0) return went;
    sent_ += went.bytes;
  }
  sealed_bytes_ = 0;
  return {.bytes = sealed_plain_};
}

Moved CryptWire::open_next() {
  constexpr Moved kBroken{.over = true, .reason = EBADMSG};
  std::size_t whole = kLengthBytes;
  for (;;) {
    if (got_ >= kLengthBytes) {
      std::uint32_t length;
      std::memcpy(&length, sealed_in_.data(), sizeof length);
      if (length == 0 || length > kPlainMax) return kBroken;
      whole = kLengthBytes + length + kTagBytes;
      if (got_ == whole) break;
    }
    const iovec rest{sealed_in_.data() + got_, whole - got_};
    const Moved came = inner_->receive({&rest, 1});
    if (came.bytes == 0) return came;
    got_ += came.bytes;
  }
  const Direction::Nonce nonce = in_.next_nonce();
  const std::size_t sealed = whole - kLengthBytes;
  if (crypto_aead_chacha20poly1305_ietf_decrypt(
          plain_.data(), nullptr, nullptr, sealed_in_.data() + kLengthBytes, sealed,
          sealed_in_.data(), kLengthBytes, nonce.data(), in_.key.data()) != 0)
    return kBroken;
  got_ = plain_first_ = 0;
  plain_last_ = sealed - kTagBytes;
  return {.bytes = 1};
}

Moved CryptWire::receive(std::span<const iovec> parts) {
  std::size_t total = 0;
  for (const iovec& part : parts) {
    for (std::size_t filled = 0; filled < part.iov_len;) {
      if (plain_first_ == plain_last_) {
        const Moved next = open_next();
        // The end shows at the next call, when nothing came before it.
        if (next.bytes == 0) return total > 0 ? Moved{.bytes = total} : next;
      }
      const std::size_t step = std::min(part.iov_len - filled, plain_last_ - plain_first_);
      std::memcpy(static_cast<std::uint8_t*>(part.iov_base) + filled, plain_.data() + plain_first_,
                  step);
      plain_first_ += step;
      filled += step;
      total += step;
    }
  }
  return {.bytes = total};
}

}  // namespace

std::unique_ptr<Wire> make_crypt_wire(std::unique_ptr<Wire> inner, const Key& session_key,
                                      bool lower) {
  return std::make_unique<CryptWire>(std::move(inner), session_key, lower);
}

}  // namespace gyre
