#include "bench/meeting.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <new>

namespace perf {

struct Page::Head {
  std::atomic<std::uint32_t> arrived;
  std::atomic<std::uint32_t> round;
  std::atomic<std::uint32_t> stopped;
  gyreUniqueId id;
};

namespace {

std::size_t head_bytes(std::size_t size) { return (size + 63) / 64 * 64; }

// Wakes at a change of `word` or after 20 ms, whichever is first.
void wait_on(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  const timespec limit{0, 20'000'000};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT32_MAX, nullptr,
          nullptr, 0);
}

}  // namespace

Page::Page(void* memory, int seats, std::size_t bytes)
    : head_(new (memory) Head{}), seats_(seats), bytes_(bytes) {
  for (int i = 0; i < seats; ++i) new (&seat(i)) Seat{};
}

std::unique_ptr<Page> Page::create(int seats) {
  const std::size_t bytes =
      head_bytes(sizeof(Head)) + static_cast<std::size_t>(seats) * sizeof(Seat);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return std::unique_ptr<Page>(new Page(memory, seats, bytes));
}

Page::~Page() { munmap(head_, bytes_); }

Seat& Page::seat(int index) const {
  auto* first = reinterpret_cast<std::byte*>(head_) + head_bytes(sizeof(Head));
  return reinterpret_cast<Seat*>(first)[index];
}

gyreUniqueId& Page::id() const { return head_->id; }

bool Page::barrier() const {
  const std::uint32_t round = head_->round.load(std::memory_order_acquire);
  const auto all = static_cast<std::uint32_t>(seats_);
  if (head_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == all) {
    head_->arrived.store(0, std::memory_order_relaxed);
    head_->round.store(round + 1, std::memory_order_release);
    wake_all(head_->round);
    return !is_stopped();
  }
  // A short spin keeps ranks with a core of their own close together; the rest must give way.
  for (int turn = 0; head_->round.load(std::memory_order_acquire) == round; ++turn) {
    if (is_stopped()) return false;
    if (turn < 4000) continue;
    if (turn < 4200) {
      sched_yield();
    } else {
      wait_on(head_->round, round);
    }
  }
  return !is_stopped();
}

void Page::stop() const {
  head_->stopped.store(1, std::memory_order_release);
  wake_all(head_->round);
}

bool Page::is_stopped() const { return head_->stopped.load(std::memory_order_acquire) != 0; }

void Page::fail(int index, const std::string& what) const {
  Seat& own = seat(index);
  const std::size_t size = std::min(what.size(), sizeof(own.error) - 1);
  std::memcpy(own.error, what.data(), size);
  own.error[size] = '\0';
  own.failed_at = std::chrono::steady_clock::now().time_since_epoch().count();
  own.state.store(SeatState::failed, std::memory_order_release);
  stop();
}

Problem PageMeeting::barrier() {
  if (page_.barrier()) return std::nullopt;
  return kLeft;
}

Problem PageMeeting::gather(const void* note, std::size_t bytes, void* all) {
  std::memcpy(page_.seat(rank_).note, note, bytes);
  if (Problem p = barrier()) return p;
  for (int r = 0; r < page_.seats(); ++r)
    std::memcpy(static_cast<std::byte*>(all) + static_cast<std::size_t>(r) * bytes,
                page_.seat(r).note, bytes);
  return barrier();  // nobody overwrites a note that is still being read
}

Problem CommMeeting::barrier() {
  return problem_of(gyreBarrier(comm_, nullptr), "gyreBarrier", comm_);
}

Problem CommMeeting::gather(const void* note, std::size_t bytes, void* all) {
  return problem_of(gyreAllGather(note, all, bytes, gyreUint8, comm_, nullptr), "gyreAllGather",
                    comm_);
}

}  // namespace perf
