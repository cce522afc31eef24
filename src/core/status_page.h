// The status page: what one rank of one communicator is doing, in a memfd that `gyre status` finds
// through /proc. Knows the layout. Writing is a few relaxed stores; reading needs no help from the
// process, so a stopped one can be looked at.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/unique.h"
#include "base/units.h"
#include "transport/signature.h"

namespace gyre {

inline constexpr std::uint64_t kStatusMagic = 0x31746174736779;  // "gystat1"
inline constexpr const char* kStatusName = "gyre-status";

struct StatusWords {
  std::uint64_t magic;
  std::uint64_t comm;
  std::int32_t pid, rank, size, waits_for;  // waits_for: a rank, -1 nobody
  std::uint64_t started, finished;          // sequence numbers of collectives
  CallSignature call;                       // of `started`
  std::int64_t started_ns;                  // steady clock of this host
  char name[64];
  char hostname[64];
};

class StatusPage {
 public:
  // Without memory for a page nothing is shown, and nothing fails.
  StatusPage(std::uint64_t comm, int rank, int size, const std::string& name);
  void start(std::uint64_t sequence, const CallSignature& call) {
    words_->call = call;
    std::atomic_ref(words_->started).store(sequence, std::memory_order_release);
  }
  void finish(std::uint64_t sequence) {
    std::atomic_ref(words_->finished).store(sequence, std::memory_order_release);
  }
  // From the slow path of waiting: since when, and for whom.
  void wait_for(int rank, Nanos since);

 private:
  Fd fd_;
  Mapping mapping_;
  StatusWords fallback_{};
  StatusWords* words_ = &fallback_;
};

}  // namespace gyre
