// Buffers whose call has failed are the caller's again: no peer reads or writes there any more.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "world/call.h"
#include "world/roads.h"

namespace world {
namespace {

using harness::Rank;

constexpr std::size_t kCount = 3'000'000;
constexpr float kPoison = -1e30f;
constexpr int kTries = 12;

// Rank 0 aborts from another thread, try by try later in the call, and writes nonsense into its
// buffers as soon as its call has returned. A peer whose call succeeds must not have seen that, and
// none may write into rank 0's buffers.
void abort_in_the_middle(Rank& me, int slot, bool own_memory) {
  gyreComm_t comm = me.join(nullptr, slot);
  const std::size_t total = kCount * static_cast<std::size_t>(me.size());
  std::vector<float> plain;
  void* mapped = nullptr;
  if (own_memory) {
    EXPECT_OK(gyreMemAlloc(&mapped, (kCount + total) * sizeof(float)));
  } else {
    plain.resize(kCount + total);
  }
  float* send = own_memory ? static_cast<float*>(mapped) : plain.data();
  float* recv = send + kCount;
  std::fill_n(send, kCount, static_cast<float>(me.rank() + 1));
  gyre::Nanos span = 0;
  for (int i = 0; i < 2; ++i) {  // the first makes the links
    me.meet();
    const gyre::Nanos begin = gyre::now_ns();
    EXPECT_OK(gyreAllGather(send, recv, kCount, gyreFloat32, comm, nullptr));
    span = gyre::now_ns() - begin;
  }
  me.meet();
  gyreResult_t result = gyreSuccess;
  if (me.rank() == 0) {
    const gyre::Nanos until = gyre::now_ns() + span * slot / kTries;
    std::thread other([&] {
      while (gyre::now_ns() < until) {
      }
      EXPECT_OK(gyreCommAbort(comm));
    });
    result = gyreAllGather(send, recv, kCount, gyreFloat32, comm, nullptr);
    std::fill_n(send, kCount + total, kPoison);
    other.join();
  } else {
    result = gyreAllGather(send, recv, kCount, gyreFloat32, comm, nullptr);
    if (result == gyreSuccess) {
      EXPECT_EQ(std::find(recv, recv + total, kPoison), recv + total) << "rank " << me.rank();
    }
  }
  me.meet();
  if (me.rank() == 0 && result != gyreSuccess) {
    const float* end = send + kCount + total;
    EXPECT_EQ(std::find_if(send, const_cast<float*>(end), [](float f) { return f != kPoison; }),
              end)
        << "a peer wrote into a buffer that was not its to write";
  }
  if (me.rank() != 0) EXPECT_OK(gyreCommAbort(comm));
  if (mapped) EXPECT_OK(gyreMemFree(mapped));
}

// The roads on which peers' buffers are reached in place.
class Loans : public testing::TestWithParam<Road> {};
INSTANTIATE_TEST_SUITE_P(World, Loans,
                         testing::Values(Road{"shm", false, {}}, Road{"loop", true, {}}),
                         name_of_road);

TEST_P(Loans, end_when_the_call_of_their_owner_fails) {
  for (const bool own_memory : {false, true})
    harness::run_world(on(GetParam(), 3), [=](Rank& me) {
      for (int slot = 0; slot < kTries && !testing::Test::HasFailure(); ++slot)
        abort_in_the_middle(me, slot, own_memory);
    });
}

}  // namespace
}  // namespace world
