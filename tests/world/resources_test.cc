// What the library takes and gives back: descriptors, threads, mappings, memory, /dev/shm; and
// little of it to begin with.
#include <dirent.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <set>

#include "base/check.h"
#include "world/call.h"
#include "world/roads.h"

namespace world {
namespace {

using harness::Rank;
using harness::World;
using gyre::operator""_MiB;
using gyre::operator""_KiB;

std::set<std::string> entries_of(const char* folder) {
  std::set<std::string> out;
  DIR* open = opendir(folder);
  for (dirent* entry = open ? readdir(open) : nullptr; entry; entry = readdir(open))
    out.insert(entry->d_name);
  if (open) closedir(open);
  return out;
}
std::size_t lines_of(const char* path) {
  std::ifstream file(path);
  std::size_t out = 0;
  for (std::string line; std::getline(file, line);) ++out;
  return out;
}
// A sanitizer keeps what was freed, and says itself what leaked.
#ifdef GYRE_SANITIZED
constexpr bool kResidentCounts = false;
#else
constexpr bool kResidentCounts = true;
#endif
std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

struct Holdings {
  std::size_t descriptors = entries_of("/proc/self/fd").size();
  std::size_t threads = entries_of("/proc/self/task").size();
  std::size_t mappings = lines_of("/proc/self/maps");
};

void expect_sum(gyreComm_t comm, int ranks, std::size_t count) {
  std::vector<std::int32_t> data(count, 1);
  ASSERT_OK(gyreAllReduce(data.data(), data.data(), count, gyreInt32, gyreSum, comm, nullptr));
  for (const std::int32_t x : data) ASSERT_EQ(x, ranks);
}

class Resources : public testing::TestWithParam<Road> {};
INSTANTIATE_TEST_SUITE_P(World, Resources, testing::ValuesIn(process_roads()), name_of_road);

TEST_P(Resources, two_hundred_lives_leave_nothing_behind) {
  harness::run_world(on(GetParam(), 2), [](Rank& me) {
    Holdings early;
    std::size_t early_bytes = 0;
    for (int i = 0; i < 200; ++i) {
      gyreUniqueId id;
      // One id per life, carried by the words of the board.
      if (me.rank() == 0) {
        EXPECT_OK(gyreGetUniqueId(&id));
        for (int w = 0; w < 16; ++w) {
          std::uint64_t word;
          std::memcpy(&word, id.internal + 8 * w, 8);
          me.word(0, w).store(word);
        }
      }
      me.meet();
      for (int w = 0; w < 16; ++w) {
        const std::uint64_t word = me.word(0, w).load();
        std::memcpy(id.internal + 8 * w, &word, 8);
      }
      gyreComm_t comm = nullptr, child = nullptr;
      ASSERT_OK(gyreCommInitRank(&comm, 2, id, me.rank()));
      expect_sum(comm, 2, i % 2 ? 10 : 100'000);
      ASSERT_OK(gyreCommSplit(comm, 0, 0, &child, nullptr));
      EXPECT_OK(gyreBarrier(child, nullptr));
      EXPECT_OK(gyreCommDestroy(child));
      EXPECT_OK(gyreCommDestroy(comm));
      me.meet();
      if (i == 50) early = {}, early_bytes = resident_bytes();
    }
    const Holdings late;
    EXPECT_LE(late.descriptors, early.descriptors + 2);
    EXPECT_LE(late.threads, early.threads + 1);
    EXPECT_LE(late.mappings, early.mappings + 10);
    if (kResidentCounts) {
      EXPECT_LE(resident_bytes(), early_bytes + 2_MiB);
    }
  });
}

TEST_P(Resources, memory_stays_flat_over_many_calls) {
  harness::run_world(on(GetParam(), 2), [](Rank& me) {
    gyreComm_t comm = me.join();
    float x = 0;
    const int calls = heavy() ? 1'000'000 : 10'000;
    std::size_t early = 0;
    for (int i = 0; i < calls; ++i) {
      if (i == calls / 5) early = resident_bytes();
      ASSERT_OK(gyreAllReduce(&x, &x, 1, gyreFloat32, gyreSum, comm, nullptr));
    }
    EXPECT_LE(resident_bytes(), early + 1_MiB);
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

TEST(Resources, a_communicator_of_one_takes_less_than_a_mebibyte) {
  harness::run_world({.ranks = 1}, [](Rank& me) {
    gyreComm_t first = me.join();
    expect_sum(first, 1, 1000);
    constexpr int kMore = 15;
    const std::size_t before = resident_bytes();
    gyreComm_t more[kMore];
    for (gyreComm_t& comm : more) {
      comm = me.join();
      expect_sum(comm, 1, 1000);
    }
    EXPECT_LE(resident_bytes() - before, kMore * 1_MiB);
    for (const gyreComm_t comm : more) EXPECT_OK(gyreCommDestroy(comm));
    EXPECT_OK(gyreCommDestroy(first));
  });
}

TEST(Resources, sixty_four_ranks_join_with_few_descriptors) {
  harness::run_world({.ranks = 64, .limit = 200'000'000'000}, [](Rank& me) {
    const std::size_t before = entries_of("/proc/self/fd").size();
    gyreComm_t comm = me.join();
    EXPECT_LE(entries_of("/proc/self/fd").size(), before + (me.rank() == 0 ? 80u : 16u));
    me.meet();
    expect_sum(comm, 64, 100);
    EXPECT_OK(gyreCommDestroy(comm));
  });
}

// Whoever runs out says so; the others must not wait for it.
TEST(Resources, too_few_descriptors_are_named) {
#ifdef GYRE_DESCRIPTORS_NEEDED
  GTEST_SKIP() << "the vptr sanitizer needs a pipe to look at an object";
#endif
  World world({.ranks = 8,
               .environment = {{"GYRE_INIT_TIMEOUT", "10s"}, {"GYRE_TIMEOUT", "10s"}},
               .prepare =
                   [](int) {
                     const rlimit limit{14, 14};
                     GYRE_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
                   }},
              [](Rank& me) {
                const gyreUniqueId id = me.id();
                gyreComm_t comm = nullptr;
                gyreResult_t result = gyreCommInitRank(&comm, 8, id, me.rank());
                std::vector<std::int32_t> send(8), recv(8);
                if (result == gyreSuccess)
                  result = gyreAlltoAll(send.data(), recv.data(), 1, gyreInt32, comm, nullptr);
                EXPECT_NE(result, gyreSuccess);
                const std::string text = gyreGetLastError(comm);
                me.word(0).store(text.find("RLIMIT_NOFILE") != std::string::npos);
                me.meet();
                if (comm) (void)gyreCommDestroy(comm);
              });
  world.finish();
  std::uint64_t named = 0;
  for (int r = 0; r < 8; ++r) named += world.word(r, 0);
  EXPECT_GE(named, 1u);
}

// ---- Containers ----

bool can_unshare() { return ::geteuid() == 0; }

void private_shm(const char* size) {
  GYRE_CHECK(unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC) == 0);
  GYRE_CHECK(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
  GYRE_CHECK(mount("tmpfs", "/dev/shm", "tmpfs", 0, size) == 0);
}

void draw_and_perform(Rank& me) {
  gyreComm_t comm = me.join();
  for (std::uint64_t i = 0; i < 60 && !testing::Test::HasFailure(); ++i)
    perform_alike(me, comm, draw({}, seed_of_run() * 1000 + i, me.size()));
  EXPECT_OK(gyreCommDestroy(comm));
}

TEST(Containers, each_with_a_tiny_shm_of_its_own) {
  if (!can_unshare()) GTEST_SKIP() << "mount namespaces need root";
  harness::run_world({.ranks = 4, .prepare = [](int) { private_shm("size=64k"); }},
                     draw_and_perform);
}

int deny_process_vm_readv() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offsetof(seccomp_data, nr))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{std::size(code), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

TEST(Containers, a_refused_process_vm_readv_is_done_without) {
  // Everywhere, and on one rank alone: then the others must do without as well.
  for (const int refused : {-1, 1})
    harness::run_world({.ranks = 3,
                        .prepare =
                            [=](int rank) {
                              if (refused < 0 || rank == refused)
                                GYRE_CHECK(deny_process_vm_readv() == 0);
                            }},
                       draw_and_perform);
}

// Killed at any moment of its life, a job leaves no file behind.
TEST(Containers, nothing_is_left_in_shm_after_a_massacre) {
  const std::set<std::string> before = entries_of("/dev/shm");
  for (int round = 0; round < (heavy() ? 50 : 10); ++round) {
    World world({.ranks = 4}, [](Rank& me) {
      for (std::uint64_t i = 0;; ++i) {
        if (i == 1) me.reach(1);
        gyreComm_t comm = me.join(nullptr, static_cast<int>(i % harness::kIdsMax));
        std::vector<float> data(100'000);
        for (std::uint32_t k = 0; k < 5; ++k)
          if (gyreAllReduce(data.data(), data.data(), data.size(), gyreFloat32, gyreSum, comm,
                            nullptr) != 0)
            return;
        if (i + 1 == harness::kIdsMax) ::pause();
        (void)gyreCommDestroy(comm);
      }
    });
    if (round % 2 == 1 && !world.await(0, 1)) return;
    for (int r = 0; r < 4; ++r) world.signal(r, SIGKILL);
  }
  EXPECT_EQ(entries_of("/dev/shm"), before);
}

}  // namespace
}  // namespace world
