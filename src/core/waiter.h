// Patience: what a thread does while nothing moves. Spins, then yields, then sleeps. Knows cores
// and bells. Does not know what is waited for.
#pragma once

#include <vector>

#include "base/clock.h"
#include "exec/edge.h"

namespace gyre {

// Cores this process may run on.
int usable_cores();

class Waiter {
 public:
  // `runners`: ranks of this host that may be spinning at the same time; more than there are cores
  // means that a spinning rank holds up the one it waits for, so it yields almost at once.
  explicit Waiter(int runners);

  void reset() { round_ = 0; }
  // One step of patience. `sockets`: the caller's round asks sockets, which takes it a hundred
  // times as long. True about once a millisecond: time to look for abort, death, deadline.
  bool pause(bool sockets);
  // True when the next pause() would sleep: the caller should use sleep() with what can wake it.
  bool sleepy() const { return round_ >= spins_ + kYields; }
  // Sleeps until `bell` rings (may be null) or a link's descriptor is ready, a few milliseconds at
  // most. `look_again` runs after the bell is armed: true means something moved after all.
  template <class LookAgain>
  bool sleep(Bell* bell, const std::vector<Link*>& links, LookAgain look_again);

 private:
  static constexpr unsigned kYields = 2000;
  void doze(Bell* bell, std::uint32_t rings, const std::vector<Link*>& links);

  unsigned spins_;
  unsigned round_ = 0;
};

template <class LookAgain>
bool Waiter::sleep(Bell* bell, const std::vector<Link*>& links, LookAgain look_again) {
  std::uint32_t rings = 0;
  if (bell) {
    rings = std::atomic_ref(bell->rings).load(std::memory_order_acquire);
    std::atomic_ref(bell->asleep).store(1, std::memory_order_seq_cst);  // pairs with ring_bell()
  }
  const bool moved = look_again();
  if (!moved) doze(bell, rings, links);
  if (bell) std::atomic_ref(bell->asleep).store(0, std::memory_order_relaxed);
  ++round_;
  return moved;
}

}  // namespace gyre
