// A desk: the memory that one rank shares with the ranks of its host for one communicator. It holds
// the FIFOs towards this rank, a bell to wake it and a box for farewells. Sender writes into the
// receiver's desk. Knows layout and the directory. Does not know sockets or who may map it.
//
// The memory is a memfd, sparse until touched: no name in /dev/shm, nothing left after a crash.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "base/unique.h"
#include "transport/fifo.h"
#include "transport/link.h"

namespace gyre {

using DeskToken = std::array<std::uint8_t, 16>;

// A waker looks at `asleep` without a fence: a wake that is missed in that race costs the sleeper
// one time-slice of its bounded sleep, and the fast path stays fast.
void ring_bell(Bell& bell);
// Sleeps until rung, at most `span`. The caller has set asleep and looked again since.
void sleep_on(Bell& bell, std::uint32_t rings_seen, Nanos span);

struct DeskHeader;

// The memory of one desk as this process sees it: a range is mapped once, however many look at it.
class DeskMemory {
 public:
  explicit DeskMemory(Fd fd) : fd_(std::move(fd)) {}
  int descriptor() const { return fd_.get(); }
  // Any thread. Ranges do not overlap.
  Result<std::byte*> map(std::uint64_t offset, std::size_t bytes);

 private:
  Fd fd_;
  std::mutex mutex_;
  std::map<std::uint64_t, Mapping> mappings_;  // by offset
};

// Peers touch this rank's buffers through windows and by single copy. When a call fails they go
// back to the caller, who may free or reuse them at once, so peers must be out and stay out: a rank
// that wants its buffers back sets `recalled` and then waits while peers' `touches` are odd; a rank
// about to touch makes its own `touches` odd and then looks at the peer's `recalled`.
struct LoanWords {
  alignas(kLineBytes) std::uint32_t touches = 0;  // by the owner, of anyone's buffers
  alignas(kLineBytes) std::uint32_t recalled = 0;
};

// One rank's desk, seen from its owner or, through a DeskView, from a peer.
class Desk {
 public:
  // `fifo_limit_bytes`: most memory that FIFOs may take before opening one more is an error.
  static Result<std::unique_ptr<Desk>> create(std::uint64_t fifo_limit_bytes);
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;
  ~Desk();

  int descriptor() const { return memory_->descriptor(); }
  const DeskToken& token() const { return token_; }
  Bell& bell() const;
  // Opens the FIFO from `sender` and publishes it in the directory.
  Result<FifoMemory> open_fifo(int sender, const EdgeKey& key, const FifoShape& shape);
  // The first farewell that a peer left here.
  std::optional<Farewell> farewell() const;
  // This rank touches peers' buffers from begin_touch() to end_touch(); they nest.
  void begin_touch();
  void end_touch();
  // From here on no peer begins to touch this rank's buffers.
  void recall();
  std::uint64_t bytes() const { return bytes_; }  // address space handed out so far

 private:
  Desk(std::shared_ptr<DeskMemory> memory, DeskHeader* head)
      : memory_(std::move(memory)), head_(head) {}
  DeskHeader& head() const { return *head_; }

  std::shared_ptr<DeskMemory> memory_;
  DeskHeader* head_;
  DeskToken token_{};
  std::uint64_t bytes_ = 0;
  std::uint64_t limit_bytes_ = 0;
  int touch_depth_ = 0;
};

// A peer's desk, mapped here.
class DeskView {
 public:
  DeskView() = default;
  static Result<DeskView> map(Fd fd);
  // Of a desk of this process: the owner's own addresses. nullopt when there is none by that token.
  static std::optional<DeskView> share(const DeskToken& token);
  const DeskToken& token() const;
  Bell& bell() const;
  // The FIFO that the owner opened for `sender`, or nullopt when it has not yet.
  Result<std::optional<FifoMemory>> find_fifo(int sender, const EdgeKey& key,
                                              const FifoShape& shape);
  void leave(const Farewell& farewell);
  bool recalled() const;
  // Odd while the owner touches buffers.
  std::uint32_t touches() const;

 private:
  static Result<DeskView> over(std::shared_ptr<DeskMemory> memory);
  DeskHeader& head() const { return *head_; }

  std::shared_ptr<DeskMemory> memory_;
  DeskHeader* head_ = nullptr;
};

}  // namespace gyre
