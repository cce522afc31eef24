// What only mapped links have: windows into the peer's regions and single copy from its memory.
#include "transport/shm.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <numeric>

#include "base/units.h"
#include "transport/link_edge.h"

namespace gyre {
namespace {

LinkPair pair_of(const std::string& name) {
  for (const LinkMaker& maker : link_makers())
    if (maker.name == name) return maker.make(1);
  ADD_FAILURE() << "no link " << name;
  return {};
}

std::byte* fresh(std::size_t bytes) { return value(allocate_region(bytes)); }

RemoteRange range_of(const std::byte* address, std::size_t offset = 0) {
  const RegionRef region = find_region(address, 1);
  return {region->id, static_cast<std::uint64_t>(address - region->base) + offset};
}

// Plain, and with faults around it.
class Windows : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Mapped, Windows, testing::Values("loop", "shm", "disturbed_shm"));

TEST_P(Windows, both_sides_see_one_memory) {
  LinkPair pair = pair_of(GetParam());
  std::byte* mine = fresh(3_MiB);
  ASSERT_TRUE(pair.ends[0]->can_map());
  ASSERT_TRUE(pair.ends[0]->announce(find_region(mine, 3_MiB)));
  std::byte* theirs = value(pair.ends[1]->map(range_of(mine, 12'345)));
  ASSERT_NE(theirs, nullptr);
  mine[12'345] = std::byte{0x42};
  EXPECT_EQ(*theirs, std::byte{0x42});
  *theirs = std::byte{0x43};
  EXPECT_EQ(mine[12'345], std::byte{0x43});
  EXPECT_EQ(value(pair.ends[1]->map(range_of(mine, 12'346))), theirs + 1) << "mapped once";
  EXPECT_TRUE(free_region(mine));
}

TEST_P(Windows, a_rank_that_recalls_its_memory_sees_who_is_inside_and_nobody_enters_after) {
  LinkPair pair = pair_of(GetParam());
  Link& owner = *pair.ends[0];
  Link& user = *pair.ends[1];
  const std::uint32_t idle = owner.touches();
  EXPECT_EQ(idle % 2, 0u);
  ASSERT_TRUE(user.borrow());
  ASSERT_TRUE(user.borrow());  // two windows in one move
  const std::uint32_t inside = owner.touches();
  EXPECT_EQ(inside % 2, 1u);
  pair.desks[0]->recall();
  user.give_back();
  EXPECT_EQ(owner.touches(), inside) << "one window is still in use";
  user.give_back();
  EXPECT_NE(owner.touches(), inside);
  EXPECT_FALSE(user.borrow());
  EXPECT_EQ(owner.touches() % 2, 0u) << "the refused one is not inside";
  EXPECT_TRUE(owner.borrow()) << "the other way round nothing was recalled";
  owner.give_back();
}

TEST_P(Windows, a_freed_region_is_let_go_and_a_new_one_takes_its_place) {
  LinkPair pair = pair_of(GetParam());
  std::byte* first = fresh(1_MiB);
  ASSERT_TRUE(pair.ends[0]->announce(find_region(first, 1)));
  const RemoteRange old = range_of(first);
  ASSERT_NE(value(pair.ends[1]->map(old)), nullptr);
  ASSERT_TRUE(free_region(first));
  std::byte* second = fresh(1_MiB);
  ASSERT_TRUE(pair.ends[0]->announce(find_region(second, 1)));
  std::byte* theirs = value(pair.ends[1]->map(range_of(second)));
  ASSERT_NE(theirs, nullptr);
  second[7] = std::byte{9};
  EXPECT_EQ(theirs[7], std::byte{9});
  EXPECT_EQ(value(pair.ends[1]->map(old)), nullptr) << "the freed region is still mapped";
  EXPECT_TRUE(free_region(second));
}

TEST_P(Windows, announcing_again_changes_nothing) {
  LinkPair pair = pair_of(GetParam());
  std::byte* mine = fresh(4096);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(pair.ends[0]->announce(find_region(mine, 1)));
  EXPECT_NE(value(pair.ends[1]->map(range_of(mine))), nullptr);
  EXPECT_TRUE(free_region(mine));
}

TEST(Shm, an_address_outside_all_windows_cannot_be_mapped_but_pulled) {
  LinkPair pair = pair_of("shm");
  std::vector<int> source(100'000), target(source.size());
  std::iota(source.begin(), source.end(), 5);
  const auto at = reinterpret_cast<std::uint64_t>(source.data());
  EXPECT_EQ(value(pair.ends[0]->map({0, at})), nullptr);
  if (!pair.ends[0]->can_pull()) GTEST_SKIP() << "process_vm_readv is refused here";
  ASSERT_TRUE(pair.ends[0]->pull(target.data(), at, source.size() * sizeof(int)));
  EXPECT_EQ(target, source);
  ASSERT_TRUE(pair.ends[0]->pull(target.data(), at, 0));
}

TEST(Shm, threads_of_one_process_reach_every_address) {
  LinkPair pair = pair_of("loop");
  int word = 5;
  std::byte* mapped = value(pair.ends[0]->map({0, reinterpret_cast<std::uint64_t>(&word)}));
  EXPECT_EQ(mapped, reinterpret_cast<std::byte*>(&word));
}

// The kernel copies up to the hole and says so; the rest must be an error and not silence.
TEST(Shm, a_pull_across_unmapped_memory_is_an_error_that_names_the_rank) {
  LinkPair pair = pair_of("shm");
  if (!pair.ends[0]->can_pull()) GTEST_SKIP() << "process_vm_readv is refused here";
  constexpr std::size_t kHalf = 64 << 10;
  void* both = mmap(nullptr, 2 * kHalf, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(both, MAP_FAILED);
  std::memset(both, 3, 2 * kHalf);
  ASSERT_EQ(munmap(static_cast<std::byte*>(both) + kHalf, kHalf), 0);
  std::vector<std::byte> target(2 * kHalf);
  const auto at = reinterpret_cast<std::uint64_t>(both);
  ASSERT_TRUE(pair.ends[0]->pull(target.data(), at, kHalf));
  const Status status = pair.ends[0]->pull(target.data(), at, 2 * kHalf);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::remote);
  EXPECT_EQ(status.error().rank, 1);
  munmap(both, kHalf);
}

TEST(Shm, a_mapping_stays_good_after_its_owner_has_freed_it) {
  LinkPair pair = pair_of("shm");
  std::byte* mine = fresh(1_MiB);
  ASSERT_TRUE(pair.ends[0]->announce(find_region(mine, 1)));
  std::byte* theirs = value(pair.ends[1]->map(range_of(mine)));
  ASSERT_NE(theirs, nullptr);
  ASSERT_TRUE(free_region(mine));
  theirs[0] = std::byte{1};  // no fault: the peer may still be at the end of a call
  EXPECT_EQ(theirs[0], std::byte{1});
}

TEST(Shm, a_stranger_on_the_socket_is_refused_by_name) {
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  Fd mine(fds[0]), theirs(fds[1]);
  auto desk = value(Desk::create(1_MiB));
  const char noise[32] = "GET / HTTP/1.1";
  ASSERT_EQ(::write(theirs.get(), noise, sizeof noise), static_cast<ssize_t>(sizeof noise));
  auto link = meet_shm(mine, {0, 4, desk.get(), false});
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().rank, 4);
}

TEST(Shm, a_peer_that_has_not_greeted_yet_may_still_do_so) {
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  Fd mine(fds[0]), theirs(fds[1]);
  auto desk = value(Desk::create(1_MiB)), other = value(Desk::create(1_MiB));
  EXPECT_EQ(value(meet_shm(mine, {0, 4, desk.get(), false})), nullptr);
  EXPECT_TRUE(mine) << "the socket was taken before there was a link";
  ASSERT_TRUE(greet_shm(theirs.get(), *other));
  EXPECT_NE(value(meet_shm(mine, {0, 4, desk.get(), false})), nullptr);
}

TEST(Shm, a_peer_that_goes_before_it_greets_is_named) {
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  Fd mine(fds[0]), theirs(fds[1]);
  auto desk = value(Desk::create(1_MiB));
  theirs.reset();
  auto link = meet_shm(mine, {0, 4, desk.get(), false});
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().code, Code::remote);
  EXPECT_EQ(link.error().rank, 4);
}

}  // namespace
}  // namespace gyre
