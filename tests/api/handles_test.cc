// Handles that are NULL, stale, of another kind or of another process: every call says so.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <vector>

#include "api/expect.h"
#include "harness/world.h"

namespace api {
namespace {

using harness::Rank;

struct Named {
  const char* name;
  std::function<gyreResult_t(gyreComm_t)> call;
};

// Every call that takes a communicator, its other arguments sound; those that end it come last.
std::vector<Named> calls_on_a_communicator() {
  static float x[64];
  static std::size_t table[8];
  static int number;
  static gyreComm_t child;
  static gyreRedOp_t op;
  static gyreResult_t state;
  static void* handle;
  static gyreWindow_t window;
  const auto type = gyreFloat32;
  return {
      {"all_reduce", [=](auto c) { return gyreAllReduce(x, x, 1, type, gyreSum, c, nullptr); }},
      {"broadcast", [=](auto c) { return gyreBroadcast(x, x, 1, type, 0, c, nullptr); }},
      {"bcast", [=](auto c) { return gyreBcast(x, 1, type, 0, c, nullptr); }},
      {"reduce", [=](auto c) { return gyreReduce(x, x, 1, type, gyreSum, 0, c, nullptr); }},
      {"all_gather", [=](auto c) { return gyreAllGather(x, x, 1, type, c, nullptr); }},
      {"reduce_scatter",
       [=](auto c) { return gyreReduceScatter(x, x, 1, type, gyreSum, c, nullptr); }},
      {"all_to_all", [=](auto c) { return gyreAlltoAll(x, x + 32, 1, type, c, nullptr); }},
      {"gather", [=](auto c) { return gyreGather(x, x, 1, type, 0, c, nullptr); }},
      {"scatter", [=](auto c) { return gyreScatter(x, x, 1, type, 0, c, nullptr); }},
      {"all_gather_v",
       [=](auto c) { return gyreAllGatherV(x, x, table, table, type, c, nullptr); }},
      {"reduce_scatter_v",
       [=](auto c) { return gyreReduceScatterV(x, x, table, table, type, gyreSum, c, nullptr); }},
      {"all_to_all_v",
       [=](auto c) { return gyreAlltoAllV(x, table, table, x, table, table, type, c, nullptr); }},
      {"barrier", [](auto c) { return gyreBarrier(c, nullptr); }},
      {"send", [=](auto c) { return gyreSend(x, 1, type, 0, c, nullptr); }},
      {"recv", [=](auto c) { return gyreRecv(x, 1, type, 0, c, nullptr); }},
      {"premul",
       [=](auto c) { return gyreRedOpCreatePreMulSum(&op, x, type, gyreScalarHostImmediate, c); }},
      {"premul destroy", [](auto c) { return gyreRedOpDestroy(static_cast<gyreRedOp_t>(99), c); }},
      {"register", [](auto c) { return gyreCommRegister(c, x, sizeof x, &handle); }},
      {"deregister", [](auto c) { return gyreCommDeregister(c, &handle); }},
      {"window", [](auto c) { return gyreCommWindowRegister(c, x, sizeof x, &window, 0); }},
      {"window end",
       [](auto c) { return gyreCommWindowDeregister(c, reinterpret_cast<gyreWindow_t>(&window)); }},
      {"split", [](auto c) { return gyreCommSplit(c, 0, 0, &child, nullptr); }},
      {"shrink", [](auto c) { return gyreCommShrink(c, nullptr, 0, &child, nullptr, 0); }},
      {"count", [](auto c) { return gyreCommCount(c, &number); }},
      {"rank", [](auto c) { return gyreCommUserRank(c, &number); }},
      {"device", [](auto c) { return gyreCommDevice(c, &number); }},
      {"state", [](auto c) { return gyreCommGetAsyncError(c, &state); }},
      {"revoke", [](auto c) { return gyreCommRevoke(c, 0); }},
      {"finalize", [](auto c) { return gyreCommFinalize(c); }},
      {"abort", [](auto c) { return gyreCommAbort(c); }},
      {"destroy", [](auto c) { return gyreCommDestroy(c); }},
  };
}

gyreComm_t alone() {
  gyreComm_t comm = nullptr;
  EXPECT_OK(gyreCommInitAll(&comm, 1, nullptr));
  return comm;
}

TEST(Handles, null_is_refused_by_every_call) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    for (const Named& one : calls_on_a_communicator())
      expect_refused(one.call(nullptr), gyreInvalidArgument, "NULL", one.name);
    EXPECT_STRNE(gyreGetLastError(nullptr), "");
  });
}

TEST(Handles, a_destroyed_one_is_refused_by_every_call_also_when_others_were_made_since) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    gyreComm_t stale = alone();
    EXPECT_OK(gyreCommDestroy(stale));
    for (int round = 0; round < 20; ++round) {
      gyreComm_t fresh = alone();
      ASSERT_NE(fresh, stale);
      for (const Named& one : calls_on_a_communicator())
        expect_refused(one.call(stale), gyreInvalidArgument, "destroyed", one.name);
      EXPECT_OK(gyreBarrier(fresh, nullptr));
      EXPECT_OK(gyreCommDestroy(fresh));
    }
  });
}

TEST(Handles, many_come_and_go) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    for (int i = 0; i < 700; ++i) {
      gyreComm_t comm = alone();
      EXPECT_OK(gyreBarrier(comm, nullptr));
      EXPECT_OK(gyreCommDestroy(comm));
    }
  });
}

TEST(Handles, a_finalized_one_refuses_work_and_can_be_destroyed) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    gyreComm_t comm = alone();
    EXPECT_OK(gyreCommFinalize(comm));
    EXPECT_REFUSED(gyreBarrier(comm, nullptr), gyreInvalidUsage, "finalized");
    EXPECT_REFUSED(gyreCommFinalize(comm), gyreInvalidUsage, "finalized");
    gyreResult_t state = gyreInProgress;
    EXPECT_OK(gyreCommGetAsyncError(comm, &state));
    EXPECT_EQ(state, gyreSuccess);
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST(Handles, registrations_end_once_and_on_their_own_communicator) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    gyreComm_t one = alone(), other = alone();
    char data[64];
    void* handle = nullptr;
    gyreWindow_t window = nullptr;
    ASSERT_OK(gyreCommRegister(one, data, sizeof data, &handle));
    ASSERT_OK(gyreCommWindowRegister(one, data, sizeof data, &window, GYRE_WIN_COLL_SYMMETRIC));
    EXPECT_REFUSED(gyreCommDeregister(other, handle), gyreInvalidArgument, "not a handle");
    EXPECT_OK(gyreCommDeregister(one, handle));
    EXPECT_REFUSED(gyreCommDeregister(one, handle), gyreInvalidArgument, "not a handle");
    EXPECT_REFUSED(gyreCommDeregister(one, data), gyreInvalidArgument, "not a handle");
    EXPECT_OK(gyreCommWindowDeregister(one, window));
    EXPECT_REFUSED(gyreCommWindowDeregister(one, window), gyreInvalidArgument, "not a handle");
    EXPECT_REFUSED(gyreCommWindowRegister(one, data, 1, &window, 77), gyreInvalidArgument, "77");
    EXPECT_REFUSED(gyreCommRegister(one, nullptr, 1, &handle), gyreInvalidArgument, "NULL");
    EXPECT_OK(gyreCommDestroy(one));
    EXPECT_OK(gyreCommDestroy(other));
  });
}

TEST(Handles, streams_are_known_by_name_not_by_address) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    gyreStream_t stream = nullptr;
    ASSERT_OK(gyreHostStreamCreate(&stream));
    EXPECT_OK(gyreHostStreamDestroy(stream));
    gyreComm_t comm = alone();
    float x = 1;
    const auto foreign = reinterpret_cast<gyreStream_t>(&x);
    for (const gyreStream_t wrong : {stream, foreign}) {
      EXPECT_REFUSED(gyreHostStreamSynchronize(wrong), gyreInvalidArgument, "stream");
      EXPECT_REFUSED(gyreHostStreamQuery(wrong), gyreInvalidArgument, "stream");
      EXPECT_REFUSED(gyreHostStreamDestroy(wrong), gyreInvalidArgument, "stream");
      EXPECT_REFUSED(gyreAllReduce(&x, &x, 1, gyreFloat32, gyreSum, comm, wrong),
                     gyreInvalidArgument, "stream");
    }
    EXPECT_REFUSED(gyreHostStreamCreate(nullptr), gyreInvalidArgument, "NULL");
    EXPECT_REFUSED(gyreHostStreamDestroy(nullptr), gyreInvalidArgument, "NULL");
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

// Runs `body` in a forked child, which leaves by exit() as programs do.
void expect_well_in_child(const std::function<void()>& body) {
  fflush(nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

TEST(Handles, of_the_parent_are_refused_in_a_forked_child_which_makes_its_own) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "thread sanitizer lets no child of fork() start threads";
#endif
  harness::run_world({.ranks = 2}, [](Rank& me) {
    gyreComm_t comm = me.join();
    gyreStream_t stream = nullptr;
    ASSERT_OK(gyreHostStreamCreate(&stream));
    EXPECT_OK(gyreBarrier(comm, stream));
    EXPECT_OK(gyreHostStreamSynchronize(stream));
    expect_well_in_child([&] {
      for (const Named& one : calls_on_a_communicator())
        if (std::strcmp(one.name, "abort") != 0 && std::strcmp(one.name, "destroy") != 0)
          expect_refused(one.call(comm), gyreInvalidUsage, "forked child", one.name);
      EXPECT_REFUSED(gyreHostStreamSynchronize(stream), gyreInvalidUsage, "forked child");
      EXPECT_REFUSED(gyreHostStreamDestroy(stream), gyreInvalidUsage, "forked child");
      EXPECT_OK(gyreCommDestroy(comm));
      gyreComm_t own[2];
      ASSERT_OK(gyreCommInitAll(own, 2, nullptr));
      float x[2] = {1, 2};
      EXPECT_OK(gyreGroupStart());
      for (int k : {0, 1})
        EXPECT_OK(gyreAllReduce(&x[k], &x[k], 1, gyreFloat32, gyreSum, own[k], nullptr));
      EXPECT_OK(gyreGroupEnd());
      EXPECT_EQ(x[0] + x[1], 6);
      for (gyreComm_t one : own) EXPECT_OK(gyreCommDestroy(one));
    });
    float x = 1;
    EXPECT_OK(gyreAllReduce(&x, &x, 1, gyreFloat32, gyreSum, comm, stream));
    EXPECT_OK(gyreHostStreamDestroy(stream));
    EXPECT_EQ(x, 2);
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

}  // namespace
}  // namespace api
