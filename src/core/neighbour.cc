#include "core/neighbour.h"

#include <algorithm>
#include <utility>

namespace gyre {

namespace {

constexpr std::uint64_t kFrameBytesMax = 256ull << 20;
constexpr std::size_t kHeadBytes = sizeof(FrameHead);
// Grown as bytes come, so that a head alone cannot make us allocate.
constexpr std::size_t kGrowthBytes = 1u << 20;

}  // namespace

Status Neighbour::read() {
  while (wants_read()) {
    std::span<std::byte> into;
    if (read_ < kHeadBytes) {
      into = std::as_writable_bytes(std::span(&in_.head, 1)).subspan(read_);
    } else {
      const std::size_t got = read_ - kHeadBytes;
      in_.bytes.resize(std::min<std::size_t>(in_.head.bytes, got + kGrowthBytes));
      into = std::span(in_.bytes).subspan(got);
    }
    if (!into.empty()) {
      const std::size_t got = GYRE_TRY(socket_.recv_some(into));
      if (got == 0) return {};
      read_ += got;
    }
    if (read_ == kHeadBytes && in_.head.bytes > kFrameBytesMax)
      return error(Code::internal, "rank {} announces a bootstrap frame of {} bytes", rank_,
                   in_.head.bytes);
    if (read_ < kHeadBytes || read_ - kHeadBytes < in_.head.bytes) continue;
    read_ = 0;
    if (in_.head.kind == FrameKind::bye)
      said_bye_ = true;
    else
      ready_ = true;
  }
  return {};
}

Frame Neighbour::take_frame() {
  ready_ = false;
  return std::exchange(in_, Frame{});
}

void Neighbour::queue(const FrameHead& head, const Blob& bytes) {
  if (!wants_write()) out_.clear(), written_ = 0;
  const auto head_bytes = std::as_bytes(std::span(&head, 1));
  out_.insert(out_.end(), head_bytes.begin(), head_bytes.end());
  out_.insert(out_.end(), bytes.begin(), bytes.end());
}

Status Neighbour::write() {
  while (wants_write()) {
    const std::size_t sent = GYRE_TRY(socket_.send_some(std::span(out_).subspan(written_)));
    if (sent == 0) return {};
    written_ += sent;
  }
  out_ = Blob();
  written_ = 0;
  return {};
}

void Neighbour::say_last(const FrameHead& head, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  queue(head, Blob(bytes.begin(), bytes.end()));
  (void)write();
}

}  // namespace gyre
