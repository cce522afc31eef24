// Any bytes as the frames of a peer, in pieces of any length: they are used or refused, and nothing
// is written outside a slot (the sanitizer sees to it).
#include <cstring>

#include "base/check.h"
#include "transport/frames.h"
#include "transport/pump.h"

namespace {

using namespace gyre;

constexpr std::uint32_t kSlotBytes = 96;

// Plays a tape; swallows what is sent.
class TapeWire final : public Wire {
 public:
  TapeWire(std::span<const std::uint8_t> tape, std::size_t piece) : tape_(tape), piece_(piece) {}
  Moved send(std::span<const iovec> parts) override {
    Moved out;
    for (const iovec& part : parts) out.bytes += part.iov_len;
    return out;
  }
  Moved receive(std::span<const iovec> parts) override {
    if (tape_.empty()) return {.over = true};
    std::size_t room = piece_, got = 0;
    for (const iovec& part : parts) {
      const std::size_t step = std::min({part.iov_len, room, tape_.size()});
      if (step > 0) std::memcpy(part.iov_base, tape_.data(), step);
      tape_ = tape_.subspan(step);
      room -= step;
      got += step;
    }
    return {.bytes = got};
  }

 private:
  std::span<const std::uint8_t> tape_;
  std::size_t piece_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > 1 << 16) return 0;
  auto wire =
      std::make_unique<TapeWire>(std::span(data + 1, size - 1), 1 + std::size_t{data[0]} * 7);
  const auto link = make_pump_link(1, "tape", std::move(wire), 1 << 20);
  auto reader = link->incoming({EdgeKind::bulk, 0}, {2, kSlotBytes});
  GYRE_CHECK(reader || reader.error().rank == 1);
  std::optional<FifoWriter> writer;
  while (link->turn()) {
    if (reader && reader->ready()) {
      GYRE_CHECK(reader->header().bytes <= kSlotBytes);
      reader->release();
    }
    if (!writer) {
      auto made = link->outgoing({EdgeKind::small, 1}, {2, 16});
      if (!made) break;
      writer = *made;
    } else if (writer->can_send()) {
      writer->commit({}, 16);
    }
    const auto news = link->check();
    if (!news || news->left || news->farewell) break;
  }
  return 0;
}
