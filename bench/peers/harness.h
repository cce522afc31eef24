// One method for all libraries that are compared: barrier and timing through a page of the
// harness's own, a sample is a batch of operations, a figure is the median over samples of the
// slowest rank. Knows no library; each peer says what it can do.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace peers {

enum class Collective { all_reduce, broadcast, all_gather, reduce_scatter, alltoall };
const char* to_text(Collective collective);

// Broadcast is in place: the root's `send` is its result, the others receive into `recv`.
// Counts are floats; `count` is the whole vector for all_reduce and broadcast, one rank's block for
// the others. Each call returns when this rank's part is done.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual const char* name() const = 0;
  virtual bool can(Collective collective) const = 0;
  // Buffers of the library's liking, so that each can show its best.
  virtual void* allocate(std::size_t bytes);
  virtual void release(void* memory);
  // Called once per size, untimed.
  virtual void prepare(Collective, const float*, float*, std::size_t) {}
  virtual void run(Collective collective, const float* send, float* recv, std::size_t count) = 0;
};

struct Plan {
  std::vector<std::size_t> sizes;
  std::vector<Collective> collectives;
  bool produced = true;  // every rank rewrites its input, untimed, before each operation
  double budget = 0.3;   // seconds of samples per point
};

// Reads --sizes 8,1K,4M --collectives all_reduce,... --touch hot|produced --budget SECONDS; exits
// with a message on anything else. `rest` gets arguments it does not know, as "--name value" pairs.
Plan parse_plan(int argc, char** argv, std::vector<std::string>& rest);

// Prints one line per point on rank 0: peer collective ranks bytes microseconds ok|WRONG.
// `page` is a file all ranks can map; created by whoever is first, removed by rank 0 at the end.
// Gives the exit status of this rank.
int measure(Peer& peer, const Plan& plan, int rank, int ranks, const std::string& page);

// Starts `ranks` processes that run `body` and waits for them; 0 when all of them gave 0.
int fork_ranks(int ranks, int (*body)(int rank, int ranks, void* argument), void* argument);

}  // namespace peers
