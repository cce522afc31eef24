// Counts and byte counts beyond 31 and 32 bits. Takes up to 10 GiB, so WORLD_HEAVY=1 alone runs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "world/call.h"
#include "world/roads.h"

namespace world {
namespace {

using harness::Rank;

constexpr std::size_t kTwo31 = std::size_t{1} << 31, kTwo32 = std::size_t{1} << 32;

class LargeCounts : public testing::TestWithParam<Road> {
 protected:
  void SetUp() override {
    if (!heavy()) GTEST_SKIP() << "takes 10 GiB: set WORLD_HEAVY=1";
  }
};
INSTANTIATE_TEST_SUITE_P(World, LargeCounts, testing::ValuesIn(all_roads()), name_of_road);

template <class T>
std::unique_ptr<T[]> filled(std::size_t count, T value) {
  std::unique_ptr<T[]> out(new T[count]);
  std::fill_n(out.get(), count, value);
  return out;
}

// Where 32-bit arithmetic would come out elsewhere: own values there, other ones around.
template <class T>
void mark(T* data, std::size_t count, T value) {
  for (const std::size_t at :
       {std::size_t{0}, kTwo31 - 1, kTwo31, kTwo31 + 1, kTwo32 - 1, kTwo32, kTwo32 + 1, count - 1})
    if (at < count) data[at] = value;
}

template <class T>
void expect_equal(const T* data, const T* expected, std::size_t count) {
  const auto [at, other] = std::mismatch(data, data + count, expected);
  EXPECT_EQ(at, data + count) << "first wrong at element " << at - data;
}

template <class T>
void all_reduce(Rank& me, gyreComm_t comm, std::size_t count, gyreDataType_t type) {
  auto data = filled<T>(count, 1);
  mark<T>(data.get(), count, static_cast<T>(me.rank() + 2));
  ASSERT_OK(gyreAllReduce(data.get(), data.get(), count, type, gyreSum, comm, nullptr));
  if (me.rank() != 0) return;  // memory for the expectation on one rank alone
  auto expected = filled<T>(count, 2);
  mark<T>(expected.get(), count, 5);
  expect_equal(data.get(), expected.get(), count);
}

TEST_P(LargeCounts, all_reduce_of_more_than_four_gibi_elements) {
  for (const std::size_t count : {kTwo31 + 17, kTwo32 + 17})
    harness::run_world(on(GetParam(), 2), [=](Rank& me) {
      gyreComm_t comm = me.join();
      all_reduce<std::int8_t>(me, comm, count, gyreInt8);
      EXPECT_OK(gyreCommDestroy(comm));
    });
}

TEST_P(LargeCounts, all_reduce_whose_bytes_alone_pass_32_bits) {
  harness::run_world(on(GetParam(), 2), [](Rank& me) {
    gyreComm_t comm = me.join();
    all_reduce<double>(me, comm, (std::size_t{1} << 29) + 1, gyreFloat64);
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST_P(LargeCounts, broadcast_and_send_and_receive) {
  harness::run_world(on(GetParam(), 2), [](Rank& me) {
    gyreComm_t comm = me.join();
    const std::size_t count = kTwo32 + 17;
    for (const bool send_and_receive : {false, true}) {
      auto data = filled<std::int8_t>(count, me.rank() == 0 ? 3 : 0);
      if (me.rank() == 0) mark<std::int8_t>(data.get(), count, 7);
      if (!send_and_receive)
        ASSERT_OK(gyreBroadcast(data.get(), data.get(), count, gyreInt8, 0, comm, nullptr));
      else if (me.rank() == 0)
        ASSERT_OK(gyreSend(data.get(), count, gyreInt8, 1, comm, nullptr));
      else
        ASSERT_OK(gyreRecv(data.get(), count, gyreInt8, 0, comm, nullptr));
      if (me.rank() == 0) data.reset();  // its memory is the expectation's
      me.meet();
      if (me.rank() == 1) {
        auto expected = filled<std::int8_t>(count, 3);
        mark<std::int8_t>(expected.get(), count, 7);
        expect_equal(data.get(), expected.get(), count);
      }
      me.meet();
    }
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST_P(LargeCounts, all_gather_and_reduce_scatter_in_place) {
  harness::run_world(on(GetParam(), 2), [](Rank& me) {
    gyreComm_t comm = me.join();
    const std::size_t each = kTwo31 + 17;
    auto data = filled<std::int8_t>(2 * each, 1);
    auto* mine = data.get() + static_cast<std::size_t>(me.rank()) * each;
    ASSERT_OK(gyreReduceScatter(data.get(), mine, each, gyreInt8, gyreSum, comm, nullptr));
    EXPECT_EQ(std::count(mine, mine + each, 2), static_cast<std::ptrdiff_t>(each));
    std::fill_n(mine, each, static_cast<std::int8_t>(me.rank() + 5));
    mark<std::int8_t>(mine, each, static_cast<std::int8_t>(me.rank() + 50));
    ASSERT_OK(gyreAllGather(mine, data.get(), each, gyreInt8, comm, nullptr));
    for (int r = 0; r < 2; ++r) {
      auto expected = filled<std::int8_t>(each, static_cast<std::int8_t>(r + 5));
      mark<std::int8_t>(expected.get(), each, static_cast<std::int8_t>(r + 50));
      expect_equal(data.get() + static_cast<std::size_t>(r) * each, expected.get(), each);
    }
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

}  // namespace
}  // namespace world
