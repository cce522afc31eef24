// One FIFO: credits, flags and where payloads lie.
#include "transport/fifo.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "transport/pages.h"

namespace gyre {
namespace {

constexpr CallSignature kCall{7, 9};

void put(FifoWriter& writer, std::uint64_t value) {
  std::memcpy(writer.payload(sizeof value), &value, sizeof value);
  writer.commit(kCall, sizeof value);
}

std::uint64_t take(FifoReader& reader) {
  std::uint64_t value;
  EXPECT_EQ(reader.header().bytes, sizeof value);
  EXPECT_EQ(reader.header().call, kCall);
  std::memcpy(&value, reader.payload(sizeof value), sizeof value);
  reader.release();
  return value;
}

TEST(Fifo, sender_waits_when_all_slots_are_full) {
  Pipe pipe({.slots = 2, .slot_bytes = 64});
  put(pipe.writer, 1);
  put(pipe.writer, 2);
  EXPECT_FALSE(pipe.writer.can_send());
  EXPECT_EQ(take(pipe.reader), 1u);
  EXPECT_TRUE(pipe.writer.can_send());
}

TEST(Fifo, reader_sees_nothing_that_was_not_committed) {
  Pipe pipe({.slots = 3, .slot_bytes = 64});
  for (std::uint64_t turn = 0; turn < 10; ++turn) {
    EXPECT_FALSE(pipe.reader.ready()) << "a stale slot looked fresh in turn " << turn;
    std::memset(pipe.writer.payload(64), 0xff, 64);
    EXPECT_FALSE(pipe.reader.ready());
    put(pipe.writer, turn);
    ASSERT_TRUE(pipe.reader.ready());
    EXPECT_EQ(take(pipe.reader), turn);
  }
}

TEST(Fifo, one_slot_is_a_fifo_too) {
  Pipe pipe({.slots = 1, .slot_bytes = 0});
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(pipe.writer.can_send());
    put(pipe.writer, i);
    EXPECT_FALSE(pipe.writer.can_send());
    EXPECT_EQ(take(pipe.reader), i);
  }
}

TEST(Fifo, short_payloads_ride_in_the_header_line_and_long_ones_do_not) {
  Pipe pipe({.slots = 2, .slot_bytes = 4096});
  const FifoMemory& memory = pipe.writer.memory();
  EXPECT_EQ(pipe.writer.payload(kInlineBytes), memory.header(0).inlined);
  EXPECT_EQ(pipe.writer.payload(kInlineBytes + 1), memory.data(0));
  EXPECT_EQ(memory.data(3) - memory.data(2), 4096);
  EXPECT_EQ(memory.data(2), memory.data(0)) << "slots come round again";
}

TEST(Fifo, slots_stay_inside_their_memory) {
  for (const FifoShape shape :
       {FifoShape{1, 0}, FifoShape{16, 0}, FifoShape{3, 1}, FifoShape{64, 4097}}) {
    Pipe pipe(shape);
    const FifoMemory& memory = pipe.writer.memory();
    const std::byte* end = pipe.storage.data() + fifo_bytes(shape);
    const auto* headers_end =
        reinterpret_cast<const std::byte*>(&memory.header(shape.slots - 1) + 1);
    EXPECT_LE(headers_end, memory.data(0));
    EXPECT_LE(memory.data(shape.slots - 1) + shape.slot_bytes, end);
  }
}

TEST(Fifo, two_threads_hand_over_every_message_in_order) {
  constexpr std::uint64_t kMessages = 20'000;
  Pipe pipe({.slots = 4, .slot_bytes = 256});
  std::thread sender([&] {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      while (!pipe.writer.can_send()) std::this_thread::yield();
      const std::size_t bytes = i % 2 ? 8 : 256;
      std::memset(pipe.writer.payload(bytes), static_cast<int>(i & 0xff), bytes);
      pipe.writer.commit({i, ~i}, bytes);
    }
  });
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    while (!pipe.reader.ready()) std::this_thread::yield();
    const SlotHeader& header = pipe.reader.header();
    ASSERT_EQ(header.call, (CallSignature{i, ~i}));
    ASSERT_EQ(header.bytes, i % 2 ? 8u : 256u);
    const std::byte* payload = pipe.reader.payload(header.bytes);
    for (std::uint32_t b = 0; b < header.bytes; ++b)
      ASSERT_EQ(payload[b], static_cast<std::byte>(i & 0xff));
    pipe.reader.release();
  }
  sender.join();
}

}  // namespace
}  // namespace gyre
