// Arguments that cannot be: each is answered before any effect, and the communicator goes on.
#include <climits>
#include <cstring>

#include "api/expect.h"
#include "harness/world.h"

namespace api {
namespace {

using harness::Rank;

void expect_usable(gyreComm_t comm, int ranks) {
  std::int32_t sum = 1;
  EXPECT_OK(gyreAllReduce(&sum, &sum, 1, gyreInt32, gyreSum, comm, nullptr));
  EXPECT_EQ(sum, ranks);
}

TEST(Arguments, of_collectives) {
  harness::run_world({.ranks = 2}, [](Rank& me) {
    gyreComm_t comm = me.join();
    float x[8] = {};
    const auto bad_type = static_cast<gyreDataType_t>(14);
    const auto bad_op = static_cast<gyreRedOp_t>(9);
    const auto bad = gyreInvalidArgument;
    EXPECT_REFUSED(gyreAllReduce(nullptr, x, 1, gyreFloat32, gyreSum, comm, nullptr), bad, "send");
    EXPECT_REFUSED(gyreAllReduce(x, nullptr, 1, gyreFloat32, gyreSum, comm, nullptr), bad,
                   "receive");
    EXPECT_REFUSED(gyreAllReduce(x, x, 1, bad_type, gyreSum, comm, nullptr), bad, "14");
    EXPECT_REFUSED(gyreAllReduce(x, x, 1, gyreFloat32, bad_op, comm, nullptr), bad, "9");
    EXPECT_REFUSED(gyreAllReduce(x, x, 1, gyreFloat32, gyreBxor, comm, nullptr), bad, "float32");
    EXPECT_REFUSED(gyreAllReduce(x, x, 1, gyreBool, gyreAvg, comm, nullptr), bad, "bool");
    for (const int count : {-1, -4096, INT_MIN})
      EXPECT_REFUSED(
          gyreAllReduce(x, x, static_cast<std::size_t>(count), gyreFloat32, gyreSum, comm, nullptr),
          bad, "overflows");
    for (const int root : {-1, 2, INT_MAX, INT_MIN}) {
      EXPECT_REFUSED(gyreBcast(x, 1, gyreFloat32, root, comm, nullptr), bad, "root");
      EXPECT_REFUSED(gyreSend(x, 1, gyreFloat32, root, comm, nullptr), bad, "peer");
    }
    EXPECT_REFUSED(gyreAlltoAll(x, x, 1, gyreFloat32, comm, nullptr), bad, "in place");
    EXPECT_OK(gyreAllReduce(nullptr, nullptr, 0, gyreFloat32, gyreSum, comm, nullptr));
    expect_usable(comm, 2);
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST(Arguments, of_uneven_collectives) {
  harness::run_world({.ranks = 2}, [](Rank& me) {
    gyreComm_t comm = me.join();
    const auto type = gyreFloat32;
    const auto bad = gyreInvalidArgument;
    float x[8] = {}, y[8] = {};
    const std::size_t ones[2] = {1, 1}, places[2] = {0, 1}, none[2] = {0, 0};
    const std::size_t huge[2] = {1, static_cast<std::size_t>(-1)};
    EXPECT_REFUSED(gyreAllGatherV(x, y, nullptr, places, type, comm, nullptr), bad, "table");
    EXPECT_REFUSED(gyreAllGatherV(x, y, ones, nullptr, type, comm, nullptr), bad, "table");
    EXPECT_REFUSED(gyreAllGatherV(nullptr, y, ones, places, type, comm, nullptr), bad, "send");
    EXPECT_REFUSED(gyreAllGatherV(x, nullptr, ones, places, type, comm, nullptr), bad, "receive");
    EXPECT_REFUSED(gyreAllGatherV(x, y, huge, places, type, comm, nullptr), bad, "too large");
    EXPECT_REFUSED(gyreAllGatherV(x, y, ones, huge, type, comm, nullptr), bad, "too large");
    EXPECT_REFUSED(gyreReduceScatterV(nullptr, y, ones, places, type, gyreSum, comm, nullptr), bad,
                   "send");
    EXPECT_REFUSED(gyreReduceScatterV(x, nullptr, ones, places, type, gyreSum, comm, nullptr), bad,
                   "receive");
    EXPECT_REFUSED(gyreAlltoAllV(nullptr, ones, places, y, ones, places, type, comm, nullptr), bad,
                   "send");
    EXPECT_REFUSED(gyreAlltoAllV(x, ones, places, nullptr, ones, places, type, comm, nullptr), bad,
                   "receive");
    EXPECT_OK(gyreAllGatherV(nullptr, nullptr, none, places, type, comm, nullptr));
    EXPECT_OK(gyreAlltoAllV(nullptr, none, none, nullptr, none, none, type, comm, nullptr));
    expect_usable(comm, 2);
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST(Arguments, of_scaled_sums) {
  harness::run_world({.ranks = 1}, [](Rank& me) {
    gyreComm_t comm = me.join(), other = me.join(nullptr, 1);
    float scalar = 2, x = 3;
    gyreRedOp_t op;
    const auto now = gyreScalarHostImmediate;
    const auto bad = gyreInvalidArgument;
    EXPECT_REFUSED(gyreRedOpCreatePreMulSum(nullptr, &scalar, gyreFloat32, now, comm), bad, "NULL");
    EXPECT_REFUSED(gyreRedOpCreatePreMulSum(&op, nullptr, gyreFloat32, now, comm), bad, "NULL");
    EXPECT_REFUSED(gyreRedOpCreatePreMulSum(&op, &scalar, gyreBool, now, comm), bad, "bool");
    ASSERT_OK(gyreRedOpCreatePreMulSum(&op, &scalar, gyreFloat32, now, comm));
    EXPECT_REFUSED(gyreAllReduce(&x, &x, 1, gyreInt32, op, comm, nullptr), bad, "float32");
    EXPECT_REFUSED(gyreAllReduce(&x, &x, 1, gyreFloat32, op, other, nullptr), bad, "not made");
    EXPECT_REFUSED(gyreRedOpDestroy(op, other), bad, "not made");
    EXPECT_OK(gyreAllReduce(&x, &x, 1, gyreFloat32, op, comm, nullptr));
    EXPECT_EQ(x, 6);
    EXPECT_OK(gyreRedOpDestroy(op, comm));
    EXPECT_REFUSED(gyreRedOpDestroy(op, comm), bad, "destroyed");
    EXPECT_REFUSED(gyreRedOpDestroy(gyreSum, comm), bad, "not made");
    EXPECT_REFUSED(gyreAllReduce(&x, &x, 1, gyreFloat32, op, comm, nullptr), bad, "destroyed");
    EXPECT_OK(gyreCommDestroy(comm));
    EXPECT_OK(gyreCommDestroy(other));
  });
}

TEST(Arguments, of_inits) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    gyreUniqueId id;
    gyreComm_t comm = nullptr;
    const auto bad = gyreInvalidArgument;
    EXPECT_REFUSED(gyreGetUniqueId(nullptr), bad, "NULL");
    ASSERT_OK(gyreGetUniqueId(&id));
    EXPECT_REFUSED(gyreCommInitRank(nullptr, 1, id, 0), bad, "NULL");
    for (const auto& [size, rank] : {std::pair(0, 0), {-1, 0}, {2, 2}, {2, -1}, {INT_MIN, INT_MAX}})
      EXPECT_REFUSED(gyreCommInitRank(&comm, size, id, rank), bad, "not possible");
    EXPECT_REFUSED(gyreCommInitRankScalable(&comm, 2, 0, 1, nullptr, nullptr), bad, "ids");
    for (const int count : {0, -1, 3})
      EXPECT_REFUSED(gyreCommInitRankScalable(&comm, 2, 0, count, &id, nullptr), bad, "ids");
    EXPECT_REFUSED(gyreCommInitAll(nullptr, 1, nullptr), bad, "not possible");
    EXPECT_REFUSED(gyreCommInitAll(&comm, 0, nullptr), bad, "not possible");
    EXPECT_REFUSED(gyreCommInitAll(&comm, INT_MIN, nullptr), bad, "not possible");
    const int device = 3;
    EXPECT_REFUSED(gyreCommInitAll(&comm, 1, &device), bad, "device 3");
    EXPECT_REFUSED(gyreCommInitFromEnv(nullptr, nullptr), bad, "NULL");
    EXPECT_EQ(comm, nullptr);
    EXPECT_OK(gyreCommInitRank(&comm, 1, id, 0));
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST(Arguments, a_damaged_id_is_found_out_wherever_it_is_damaged) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    gyreUniqueId id;
    gyreComm_t comm = nullptr;
    ASSERT_OK(gyreGetUniqueId(&id));
    for (char& byte : id.internal) {
      byte = static_cast<char>(byte ^ 0x10);
      EXPECT_REFUSED(gyreCommInitRank(&comm, 1, id, 0), gyreInvalidArgument, "unique id");
      byte = static_cast<char>(byte ^ 0x10);
    }
    gyreUniqueId zero{};
    EXPECT_REFUSED(gyreCommInitRank(&comm, 1, zero, 0), gyreInvalidArgument, "all zeros");
    EXPECT_EQ(comm, nullptr);
  });
}

TEST(Arguments, of_configs) {
  harness::run_world({.ranks = 1}, [](Rank& me) {
    const gyreUniqueId id = me.id();
    gyreComm_t comm = nullptr;
    auto refuse = [&](gyreResult_t code, const char* part, auto spoil) {
      gyreConfig_t config = GYRE_CONFIG_INITIALIZER;
      spoil(config);
      EXPECT_REFUSED(gyreCommInitRankConfig(&comm, 1, id, 0, &config), code, part);
      EXPECT_EQ(comm, nullptr);
    };
    const auto bad = gyreInvalidArgument;
    refuse(bad, "INITIALIZER", [](auto& c) { std::memset(&c, 0, sizeof c); });
    refuse(bad, "INITIALIZER", [](auto& c) { c.size = 1; });
    refuse(bad, "INITIALIZER", [](auto& c) { c.size = static_cast<std::size_t>(-1); });
    refuse(bad, "timeoutMs", [](auto& c) { c.timeoutMs = -5; });
    refuse(bad, "initTimeoutMs", [](auto& c) { c.initTimeoutMs = -5; });
    refuse(bad, "bufferBytes", [](auto& c) { c.bufferBytes = -5; });
    refuse(gyreInvalidUsage, "not possible", [](auto& c) { c.bufferBytes = 3; });
    refuse(gyreInvalidUsage, "pigeon", [](auto& c) { c.netName = "pigeon"; });
    EXPECT_OK(gyreCommInitRankConfig(&comm, 1, id, 0, nullptr));
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST(Arguments, of_the_environment) {
  using Setting = std::pair<std::string, std::string>;
  for (const Setting& bad : {Setting{"GYRE_DEBUG", "loud"},
                             {"GYRE_TIMEOUT", "banana"},
                             {"GYRE_SLOTS", "many"},
                             {"GYRE_DETERMINISTIC", "perhaps"}})
    harness::run_world({.ranks = 1, .environment = {bad}}, [&](Rank&) {
      gyreComm_t comm = nullptr;
      gyreUniqueId id;
      EXPECT_REFUSED(gyreGetUniqueId(&id), gyreInvalidUsage, bad.first);
      EXPECT_REFUSED(gyreCommInitFromEnv(&comm, nullptr), gyreInvalidUsage, bad.second);
    });
}

TEST(Arguments, of_the_rest) {
  harness::run_world({.ranks = 1}, [](Rank& me) {
    gyreComm_t comm = me.join(), child = nullptr;
    const auto bad = gyreInvalidArgument;
    EXPECT_REFUSED(gyreGetVersion(nullptr), bad, "NULL");
    EXPECT_REFUSED(gyreCommCount(comm, nullptr), bad, "NULL");
    EXPECT_REFUSED(gyreCommUserRank(comm, nullptr), bad, "NULL");
    EXPECT_REFUSED(gyreCommDevice(comm, nullptr), bad, "NULL");
    EXPECT_REFUSED(gyreCommGetAsyncError(comm, nullptr), bad, "NULL");
    EXPECT_REFUSED(gyreCommSplit(comm, 0, 0, nullptr, nullptr), bad, "no place");
    EXPECT_REFUSED(gyreCommSplit(comm, -7, 0, &child, nullptr), bad, "-7");
    EXPECT_REFUSED(gyreCommShrink(comm, nullptr, 1, &child, nullptr, 0), bad, "list");
    EXPECT_REFUSED(gyreCommShrink(comm, nullptr, -1, &child, nullptr, 0), bad, "list");
    EXPECT_REFUSED(gyreCommShrink(comm, nullptr, 0, &child, nullptr, 6), bad, "6");
    int excluded = 5;
    EXPECT_REFUSED(gyreCommShrink(comm, &excluded, 1, &child, nullptr, 0), bad, "5");
    excluded = 0;
    EXPECT_REFUSED(gyreCommShrink(comm, &excluded, 1, &child, nullptr, 0), bad, "itself");
    EXPECT_REFUSED(gyreCommRevoke(comm, 1), bad, "flags");
    EXPECT_STREQ(gyreGetErrorString(static_cast<gyreResult_t>(12)), "unknown result code");
    EXPECT_STREQ(gyreGetErrorString(gyreNumResults), "unknown result code");
    expect_usable(comm, 1);
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST(Arguments, of_memory) {
  harness::run_world({.ranks = 1}, [](Rank&) {
    void* memory = nullptr;
    EXPECT_REFUSED(gyreMemAlloc(nullptr, 1), gyreInvalidArgument, "NULL");
    for (const std::size_t bytes : {static_cast<std::size_t>(-1), static_cast<std::size_t>(-4096),
                                    std::size_t{1} << 63, std::size_t{1} << 46}) {
      EXPECT_NE(gyreMemAlloc(&memory, bytes), gyreSuccess) << bytes;
      EXPECT_EQ(memory, nullptr);
    }
    EXPECT_OK(gyreMemAlloc(&memory, 0));
    EXPECT_REFUSED(gyreMemFree(static_cast<char*>(memory) + 1), gyreInvalidArgument,
                   "gyreMemAlloc");
    EXPECT_OK(gyreMemFree(memory));
    EXPECT_REFUSED(gyreMemFree(memory), gyreInvalidArgument, "gyreMemAlloc");
    EXPECT_OK(gyreMemFree(nullptr));
  });
}

}  // namespace
}  // namespace api
