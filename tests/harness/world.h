// A world: ranks of a test as processes forked from it or as threads of one forked process. Knows
// how to start, steer, kill and collect them. The test's own process never calls the library, so
// every world begins with a fresh one. Does not know collectives.
//
// Ranks use gtest's macros; what fails there fails the test, with the rank's last lines.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/board.h"

namespace harness {

using gyre::Nanos;
using namespace gyre;  // literals: 5_s, 64_KiB

using Environment = std::vector<std::pair<std::string, std::string>>;

// One rank's view, handed to the body.
class Rank {
 public:
  Rank(Board& board, int rank, int size) : board_(&board), rank_(rank), size_(size) {}
  int rank() const { return rank_; }
  int size() const { return size_; }
  Board& board() const { return *board_; }

  // The id that rank `owner` makes, for `slot`; the others wait for it.
  gyreUniqueId id(int slot = 0, int owner = 0) const;
  // A communicator over all ranks; the test ends this rank if there is none.
  gyreComm_t join(gyreConfig_t* config = nullptr, int slot = 0) const;
  // Tells the test that this rank has come so far. Points only grow.
  void reach(std::uint32_t point) const;
  // Waits until another rank has come so far.
  void await(int rank, std::uint32_t point) const;
  // Barrier of all ranks beside the library.
  void meet() const;
  std::atomic<std::uint64_t>& word(int rank, int index) const {
    return board_->words[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
  }
  std::atomic<std::uint64_t>& word(int index) const { return word(rank_, index); }

 private:
  Board* board_;
  int rank_;
  int size_;
};

using Body = std::function<void(Rank&)>;

struct WorldOptions {
  int ranks = 2;
  bool threads = false;     // all ranks in one process
  Environment environment;  // the GYRE_ variables of all ranks: others are not inherited
  // More variables, a namespace, a limit: runs in the rank's process before anything else.
  std::function<void(int rank)> prepare;
  Nanos limit = 120'000'000'000;  // then all are killed and the test fails
};

enum class Ending { running, well, failed, killed };

class World {
 public:
  World(WorldOptions options, Body body);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();  // kills what still runs

  // Waits until the rank has reached `point`; fails the test when it ends or time runs out first.
  [[nodiscard]] bool await(int rank, std::uint32_t point);
  // The ranks' await(kTest, point) may go on.
  void reach(std::uint32_t point);
  // Sends a signal. A rank that got SIGKILL is expected to die of it.
  void signal(int rank, int number);
  // The rank will die of SIGKILL by other means.
  void expect_death(int rank) { at(rank).condemned = true; }
  pid_t pid(int rank) const { return at(rank).pid; }
  Board& board() const { return *reinterpret_cast<Board*>(memory_.data()); }
  std::uint64_t word(int rank, int index) const {
    return board().words[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)].load();
  }

  // Waits for all; a rank that ends badly without having been told to fails the test.
  void finish();
  // Everything the rank's process has written to stdout and stderr so far.
  std::string log(int rank) const;

 private:
  struct Process {
    pid_t pid = -1;
    gyre::Fd end;  // readable when the process has ended
    gyre::Fd log;
    Ending ending = Ending::running;
    int status = 0;
    bool condemned = false;
  };
  Process& at(int rank) { return processes_[index(rank)]; }
  const Process& at(int rank) const { return processes_[index(rank)]; }
  std::size_t index(int rank) const {
    return options_.threads ? 0 : static_cast<std::size_t>(rank);
  }
  void start(std::size_t process);
  [[noreturn]] void live(std::size_t process);
  void collect();  // those that have ended
  void wait_for_an_end();
  void report_overdue();
  std::string state_text(std::size_t process) const;

  WorldOptions options_;
  Body body_;
  Nanos deadline_;
  bool failed_before_ = false;  // nothing was started
  gyre::Mapping memory_;
  std::vector<Process> processes_;
};

// Starts a world and waits for its end.
void run_world(WorldOptions options, Body body);

// Ranks on several pretended hosts of this machine: a prepare() for `hosts` blocks of ranks.
std::function<void(int)> on_hosts(int ranks, int hosts);

}  // namespace harness
