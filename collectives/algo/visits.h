// Visits: how a plan may touch peers' buffers. A rank's token on entry says that its buffers may be
// touched, its token on exit that it has finished touching; nobody leaves before his visitors have.
#pragma once

#include <vector>

#include "collectives/emit.h"

namespace gyre::algo {

struct Visits {
  std::vector<int> hosts;   // ranks whose buffers this rank touches
  std::vector<int> guests;  // ranks that touch this rank's buffers
};

inline std::vector<int> all_others(const Emitter& e) {
  std::vector<int> others;
  for (int k = 1; k < e.size(); ++k) others.push_back(e.wrap(e.rank() + k));
  return others;
}

inline Visits everyone_visits_everyone(const Emitter& e) { return {all_others(e), all_others(e)}; }
inline Visits all_visit(const Emitter& e, int root) {
  return e.rank() == root ? Visits{{}, all_others(e)} : Visits{{root}, {}};
}
inline Visits visits_all(const Emitter& e, int root) {
  return e.rank() == root ? Visits{all_others(e), {}} : Visits{{}, {root}};
}

// Lays down a token for each of `targets`, then waits for one from each of `sources`.
inline void swap_tokens(Emitter& e, const std::vector<int>& targets,
                        const std::vector<int>& sources) {
  Operands posts, waits;
  for (const int peer : targets) posts.push_back(e.token_to(peer));
  for (const int peer : sources) waits.push_back(e.token_from(peer));
  if (!posts.empty()) e.post(posts);
  if (!waits.empty()) e.wait(waits);
}

// One lane whose body may touch the hosts' buffers.
template <class Body>
void visit(Emitter& e, const Visits& visits, Body body) {
  e.lane();
  e.prologue();
  swap_tokens(e, visits.guests, visits.hosts);
  e.body();
  body();
  e.epilogue();
  swap_tokens(e, visits.hosts, visits.guests);
}

inline Operands every_input(const Emitter& e) {
  return in_rank_order(e, in(), [&](int peer) { return e.peer_in(peer); });
}

}  // namespace gyre::algo
