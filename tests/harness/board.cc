#include "harness/board.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "base/check.h"

namespace harness {

using gyre::Nanos;

gyre::Mapping make_board() {
  void* memory =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  GYRE_CHECK(memory != MAP_FAILED);
  return gyre::Mapping(memory, sizeof(Board));
}

void sleep_on_word(std::atomic<std::uint32_t>& word, std::uint32_t seen, Nanos span) {
  const timespec limit{span / 1'000'000'000, span % 1'000'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void wake_word(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool wait_for_word(std::atomic<std::uint32_t>& word,
                   const std::function<bool(std::uint32_t)>& enough, Nanos deadline) {
  for (;;) {
    const std::uint32_t seen = word.load();
    if (enough(seen)) return true;
    const Nanos left = deadline - gyre::now_ns();
    if (left <= 0) return false;
    sleep_on_word(word, seen, left);
  }
}

std::uint32_t arrive_at_board(Board& board, int count) {
  const std::uint32_t round = board.round.load();
  if (board.arrived.fetch_add(1) + 1 == static_cast<std::uint32_t>(count)) {
    board.arrived.store(0);
    board.round.fetch_add(1);
    wake_word(board.round);
  }
  return round;
}

}  // namespace harness
