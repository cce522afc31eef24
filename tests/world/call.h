// One collective call of a test: what is called with what, drawn from a seed so that all ranks draw
// the same, performed and checked against the oracle. Knows the public API.
#pragma once

#include <string>
#include <vector>

#include "harness/world.h"
#include "world/oracle.h"

namespace world {

enum class Kind {
  all_reduce,
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  gather,
  scatter,
  all_gather_v,
  reduce_scatter_v,
  all_to_all_v,
};
inline constexpr int kKinds = 11;
const char* name_of(Kind kind);
bool reduces(Kind kind);

// Where buffers lie: in plain memory, in gyreMemAlloc's, or each of each rank's as it comes.
enum class Memory { plain, shared, mixed };

struct Call {
  Kind kind = Kind::all_reduce;
  gyreDataType_t type = gyreFloat32;
  int op = gyreSum;  // or kPreMul
  int root = 0;
  std::size_t count = 0;  // per block; of the uneven kinds an upper bound
  bool in_place = false;
  Memory memory = Memory::plain;
  std::uint64_t seed = 0;
};

// What a drawn call is made of; empty lists mean anything.
struct Menu {
  std::vector<Kind> kinds;
  std::vector<std::size_t> counts;
  std::vector<gyreDataType_t> types;
};
Call draw(const Menu& menu, std::uint64_t seed, int ranks);
std::string text_of(const Call& call, int ranks);

// Performs `call` and checks every promise: result, untouched input, nothing past the buffers. With
// `stream` it is synchronised before looking.
void perform(const harness::Rank& me, gyreComm_t comm, const Call& call,
             gyreStream_t stream = nullptr);
// The same, and that results which must be alike are bit-identical on all ranks (needs all of
// them).
void perform_alike(const harness::Rank& me, gyreComm_t comm, const Call& call);

// From the environment: WORLD_SEED, printed by whoever draws; WORLD_HEAVY=1 for long sweeps.
std::uint64_t seed_of_run();
bool heavy();

}  // namespace world

// A call of the library that must succeed.
#define EXPECT_OK(call)                                                              \
  do {                                                                               \
    const gyreResult_t expect_ok = (call);                                           \
    EXPECT_EQ(expect_ok, gyreSuccess) << #call << ": " << gyreGetLastError(nullptr); \
  } while (0)
#define ASSERT_OK(call)                                                              \
  do {                                                                               \
    const gyreResult_t expect_ok = (call);                                           \
    ASSERT_EQ(expect_ok, gyreSuccess) << #call << ": " << gyreGetLastError(nullptr); \
  } while (0)
