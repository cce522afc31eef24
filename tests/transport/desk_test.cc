// A desk and its view: FIFOs, farewells and the bell between two mappings of one memory.
#include "transport/desk.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "base/units.h"

namespace gyre {
namespace {

constexpr FifoShape kShape{4, 4096};

std::unique_ptr<Desk> desk_of(std::uint64_t limit = 1024_MiB) {
  auto made = Desk::create(limit);
  EXPECT_TRUE(made);
  return *std::move(made);
}

DeskView view_of(const Desk& desk) {
  auto made = DeskView::map(Fd(dup(desk.descriptor())));
  EXPECT_TRUE(made);
  return *std::move(made);
}

TEST(Desk, every_desk_has_a_token_of_its_own_and_the_view_sees_it) {
  auto a = desk_of(), b = desk_of();
  EXPECT_NE(a->token(), b->token());
  EXPECT_EQ(view_of(*a).token(), a->token());
}

TEST(Desk, a_fifo_is_found_by_sender_kind_and_index_once_it_is_open) {
  auto desk = desk_of();
  DeskView view = view_of(*desk);
  const EdgeKey key{EdgeKind::bulk, 3};
  auto early = view.find_fifo(5, key, kShape);
  ASSERT_TRUE(early);
  EXPECT_FALSE(*early);
  auto mine = desk->open_fifo(5, key, kShape);
  ASSERT_TRUE(mine);
  for (const auto& [sender, other] :
       {std::pair{4, key}, {5, EdgeKey{EdgeKind::small, 3}}, {5, EdgeKey{EdgeKind::bulk, 4}}}) {
    auto wrong = view.find_fifo(sender, other, kShape);
    ASSERT_TRUE(wrong);
    EXPECT_FALSE(*wrong);
  }
  auto theirs = view.find_fifo(5, key, kShape);
  ASSERT_TRUE(theirs);
  ASSERT_TRUE(*theirs);
  FifoWriter writer(**theirs);
  FifoReader reader(*mine);
  std::memset(writer.payload(4096), 0x5a, 4096);
  writer.commit({}, 4096);
  ASSERT_TRUE(reader.ready());
  EXPECT_EQ(reader.payload(4096)[4095], std::byte{0x5a});
}

TEST(Desk, memory_is_taken_where_it_is_touched_and_not_before) {
  auto desk = desk_of();
  for (std::uint16_t i = 0; i < 64; ++i)
    ASSERT_TRUE(desk->open_fifo(1, {EdgeKind::bulk, i}, {4, 128 << 10}));
  EXPECT_GT(desk->bytes(), 32_MiB);
  struct stat what {};
  ASSERT_EQ(fstat(desk->descriptor(), &what), 0);
  EXPECT_LT(what.st_blocks * 512, 1 << 20);
}

TEST(Desk, one_fifo_too_many_is_an_error_that_names_the_knob) {
  auto desk = desk_of(400 << 10);
  Status last;
  int opened = 0;
  for (std::uint16_t i = 0; i < 100; ++i) {
    auto fifo = desk->open_fifo(1, {EdgeKind::bulk, i}, kShape);
    if (!fifo) {
      last = fifo.take_error();
      break;
    }
    ++opened;
  }
  EXPECT_GT(opened, 1);
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, Code::system);
  EXPECT_NE(last.error().text.find("GYRE_FIFO_LIMIT"), std::string::npos) << last.error().text;
}

TEST(Desk, the_first_farewell_stays) {
  auto desk = desk_of();
  DeskView view = view_of(*desk);
  EXPECT_FALSE(desk->farewell());
  view.leave({Code::timeout, 3, "rank 3 is late"});
  view.leave({Code::remote, 4, "never mind"});
  const auto word = desk->farewell();
  ASSERT_TRUE(word);
  EXPECT_EQ(word->code, Code::timeout);
  EXPECT_EQ(word->culprit, 3);
  EXPECT_EQ(word->text, "rank 3 is late");
}

TEST(Desk, a_long_farewell_is_cut_short) {
  auto desk = desk_of();
  DeskView view = view_of(*desk);
  view.leave({Code::remote, 1, std::string(5000, 'x')});
  const auto word = desk->farewell();
  ASSERT_TRUE(word);
  EXPECT_GT(word->text.size(), 100u);
  EXPECT_EQ(word->text.find_first_not_of('x'), std::string::npos);
}

TEST(Desk, what_is_no_desk_is_refused) {
  Fd small(memfd_create("small", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(small.get(), 4096), 0);
  EXPECT_FALSE(DeskView::map(std::move(small)));
  Fd zeros(memfd_create("zeros", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(zeros.get(), 4 << 20), 0);
  EXPECT_FALSE(DeskView::map(std::move(zeros)));
}

TEST(Desk, the_bell_wakes_a_sleeper) {
  auto desk = desk_of();
  DeskView view = view_of(*desk);
  std::atomic_ref(desk->bell().asleep).store(1);
  const std::uint32_t seen = std::atomic_ref(desk->bell().rings).load();
  std::thread ringer([&] { ring_bell(view.bell()); });
  const Nanos begin = now_ns();
  while (std::atomic_ref(desk->bell().rings).load() == seen) sleep_on(desk->bell(), seen, 20_s);
  EXPECT_LT(now_ns() - begin, 15_s) << "it slept to the end";
  ringer.join();
}

TEST(Desk, nobody_is_rung_who_does_not_sleep) {
  auto desk = desk_of();
  const std::uint32_t before = desk->bell().rings;
  ring_bell(desk->bell());
  EXPECT_EQ(desk->bell().rings, before);
}

}  // namespace
}  // namespace gyre
