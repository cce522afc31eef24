#include "core/waiter.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>

#include "base/hd.h"

namespace gyre {

int usable_cores() {
  static const int cores = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return std::max(1, CPU_COUNT(&set));
  }();
  return cores;
}

// About 10 us of spinning when every rank has a core of its own. Longer would save nothing that
// counts and, where other work shares the cores, keep the peer from running for whole time-slices:
// with eight compilers beside two ranks, all_reduce of 8 B took 2000 us at 20,000 spins and 90 us
// at 1000. Between hosts, four ranks on two cores, 8 B took 1800 us with 1000 rounds that ask
// sockets, each a system call, and 47 us with ten.
Waiter::Waiter(int runners) : spins_(runners > usable_cores() ? 8 : 1000) {}

bool Waiter::pause(bool sockets) {
  ++round_;
  if (round_ < (sockets ? spins_ / 100 : spins_)) {
    cpu_pause();
    return false;
  }
  sched_yield();
  return round_ % 512 == 0;
}

// A link with a descriptor wakes poll(2); a bell wakes the futex. With both kinds the sleep is
// short, since one cannot wake the other.
void Waiter::doze(Bell* bell, std::uint32_t rings, const std::vector<Link*>& links) {
  std::vector<pollfd> waits;
  for (const Link* link : links) link->watch(waits);
  const unsigned naps = round_ - spins_ - kYields;
  const Nanos span = std::min<Nanos>(1_ms + 100'000 * static_cast<Nanos>(naps), 8_ms);
  if (!waits.empty())
    poll(waits.data(), waits.size(), bell ? 1 : static_cast<int>(span / 1'000'000));
  else if (bell)
    sleep_on(*bell, rings, span);
  else
    poll(nullptr, 0, 1);
}

}  // namespace gyre
