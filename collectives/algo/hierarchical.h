// Hierarchical: inside the hosts first, then across them. Knows which ranks share a host.
//
// Rails: rail j joins the j-th rank of every host and owns a share of the blocks; there are as many
// as the smallest host has ranks. On each rail runs the circulant algorithm across hosts, in which
// "my part" is the parts of all ranks of the host and "my result" goes to all of them, so the
// inside of a host adds sources and targets to moves, not moves. Each rail is a lane of every rank.
// Edges inside a host: index 0 towards the rail's rank, 1 away from it.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/algo/binomial.h"
#include "collectives/algo/circulant.h"

namespace gyre::algo {
namespace hierarchical {

struct Hosts {
  const std::vector<std::vector<int>>& hosts;
  int rank;
  int host = 0;        // of rank
  int index = 0;       // of rank in its host
  int rails, largest;  // ranks on the smallest and on the largest host

  explicit Hosts(const Shape& shape) : hosts(shape.layout->hosts), rank(shape.rank) {
    std::size_t least = hosts[0].size(), most = 0;
    for (std::size_t h = 0; h < hosts.size(); ++h) {
      least = std::min(least, hosts[h].size());
      most = std::max(most, hosts[h].size());
      for (std::size_t i = 0; i < hosts[h].size(); ++i) {
        if (hosts[h][i] != rank) continue;
        host = static_cast<int>(h);
        index = static_cast<int>(i);
      }
    }
    rails = static_cast<int>(least);
    largest = static_cast<int>(most);
  }
  int count() const { return static_cast<int>(hosts.size()); }
  const std::vector<int>& of(int h) const {
    return hosts[static_cast<std::size_t>((h % count() + count()) % count())];
  }
  int on_rail(int h, int rail) const { return of(h)[static_cast<std::size_t>(rail)]; }
  // Rail `rail` serves rank `rail` of host h in pass 0, rank `rail + rails` in pass 1 and so on; -1
  // where there is none. Each pass is a fold or spread of its own, so it needs no more slots.
  int served(int h, int rail, int pass) const {
    const auto i = static_cast<std::size_t>(rail + pass * rails);
    return i < of(h).size() ? of(h)[i] : -1;
  }
  int passes() const { return (largest + rails - 1) / rails; }
  circulant::Circle circle(int rail) const {
    return {count(), host, [this, rail](int h) { return on_rail(h, rail); }};
  }
  // of(rank) for the other ranks of this host, except `but`.
  template <class Of>
  Operands locals(Of each, int but = -1) const {
    Operands operands;
    for (const int local : of(host))
      if (local != rank && local != but) operands.push_back(each(local));
    return operands;
  }
};

}  // namespace hierarchical

// Block (rail, host): whole at that host's rank of that rail.
inline void hierarchical_all_reduce(const Shape& shape, Program& program) {
  const hierarchical::Hosts hosts(shape);
  Emitter e(shape, program, {.blocks = hosts.rails * hosts.count()});
  for (int rail = 0; rail < hosts.rails; ++rail) {
    const circulant::Circle circle = hosts.circle(rail);
    const auto block = [&](int x) {
      return rail * hosts.count() + (hosts.host + x) % hosts.count();
    };
    e.lane();
    if (hosts.index == rail) {
      circulant::all_reduce(e, circle, block,
                            Operands{in()} + hosts.locals([&](int r) { return e.from(r, 0); }),
                            Operands{out()} + hosts.locals([&](int r) { return e.to(r, 1); }));
      continue;
    }
    const int owner = hosts.on_rail(hosts.host, rail);
    const std::vector<int>& order = circle.rounds.order();
    for (const int x : order) e.move(block(x), {in()}, {e.to(owner, 0)});
    for (auto x = order.rbegin(); x != order.rend(); ++x)
      e.move(block(*x), {e.from(owner, 1)}, {out()});
  }
}

inline void hierarchical_reduce_scatter(const Shape& shape, Program& program) {
  const hierarchical::Hosts hosts(shape);
  const int me = shape.rank;
  Emitter e(shape, program, {.blocks = shape.size()});
  for (int rail = 0; rail < hosts.rails; ++rail) {
    const circulant::Circle circle = hosts.circle(rail);
    e.lane();
    if (hosts.index == rail) {
      const Operands parts = Operands{in()} + hosts.locals([&](int r) { return e.from(r, 0); });
      for (int pass = 0; pass < hosts.passes(); ++pass)
        fold(e, circle.rounds, circle.below, circle.above,
             [&](int x, const Operands& arriving, const Operands& leaving) {
               const int block = hosts.served(hosts.host + x, rail, pass);
               if (block < 0) return;
               if (x > 0)
                 e.move(block, parts + arriving, leaving);
               else
                 e.move(block, parts + arriving, {block == me ? out() : e.to(block, 1)}, kFinal);
             });
      continue;
    }
    const int owner = hosts.on_rail(hosts.host, rail);
    for (int pass = 0; pass < hosts.passes(); ++pass)
      for (const int x : circle.rounds.order())
        if (const int block = hosts.served(hosts.host + x, rail, pass); block >= 0)
          e.move(block, {in()}, {e.to(owner, 0)});
    if (hosts.index % hosts.rails == rail) e.move(me, {e.from(owner, 1)}, {out()});
  }
}

inline void hierarchical_all_gather(const Shape& shape, Program& program) {
  const hierarchical::Hosts hosts(shape);
  const int me = shape.rank;
  Emitter e(shape, program, {.blocks = shape.size()});
  for (int rail = 0; rail < hosts.rails; ++rail) {
    const circulant::Circle circle = hosts.circle(rail);
    e.lane();
    if (hosts.index == rail) {
      for (int pass = 0; pass < hosts.passes(); ++pass)
        spread(e, circle.rounds, circle.below, circle.above,
               [&](int x, const Operands& arriving, const Operands& leaving) {
                 const int block = hosts.served(hosts.host + x, rail, pass);
                 if (block < 0) return;
                 const Operands targets = Operands{out()} + leaving +
                                          hosts.locals([&](int r) { return e.to(r, 1); }, block);
                 if (x > 0)
                   e.move(block, arriving, targets);
                 else
                   e.move(block, {block == me ? in() : e.from(block, 0)}, targets);
               });
      continue;
    }
    const int owner = hosts.on_rail(hosts.host, rail);
    if (hosts.index % hosts.rails == rail) e.move(me, {in()}, {out(), e.to(owner, 0)});
    const std::vector<int>& order = circle.rounds.order();
    for (int pass = 0; pass < hosts.passes(); ++pass)
      for (auto x = order.rbegin(); x != order.rend(); ++x) {
        const int block = hosts.served(hosts.host + *x, rail, pass);
        if (block >= 0 && block != me) e.move(block, {e.from(owner, 1)}, {out()});
      }
  }
}

// Rooted: one rank speaks for each host (the root for its own), a binomial tree joins the speakers.
namespace hierarchical {

struct Speakers {
  Hosts hosts;
  int root, root_host = 0;

  explicit Speakers(const Shape& shape) : hosts(shape), root(shape.root) {
    for (int h = 0; h < hosts.count(); ++h)
      for (const int rank : hosts.of(h))
        if (rank == root) root_host = h;
  }
  int position() const { return (hosts.host - root_host + hosts.count()) % hosts.count(); }
  int at(int position) const {
    const int h = (position + root_host) % hosts.count();
    return h == root_host ? root : hosts.on_rail(h, 0);
  }
  int mine() const { return at(position()); }
};

}  // namespace hierarchical

inline void hierarchical_broadcast(const Shape& shape, Program& program) {
  const hierarchical::Speakers speakers(shape);
  const int position = speakers.position();
  Emitter e(shape, program, {});
  e.lane();
  if (speakers.mine() != shape.rank) return e.move(0, {e.from(speakers.mine())}, {out()});
  Operands targets{out()};
  for (const auto& child : binomial::children(position, speakers.hosts.count()))
    targets.insert(targets.begin() + 1, e.to(speakers.at(child.top)));  // deepest first
  e.move(0, {position == 0 ? in() : e.from(speakers.at(binomial::parent(position)))},
         targets + speakers.hosts.locals([&](int rank) { return e.to(rank); }));
}

inline void hierarchical_reduce(const Shape& shape, Program& program) {
  const hierarchical::Speakers speakers(shape);
  const int position = speakers.position();
  Emitter e(shape, program, {});
  e.lane();
  if (speakers.mine() != shape.rank) return e.move(0, {in()}, {e.to(speakers.mine())});
  Operands sources = Operands{in()} + speakers.hosts.locals([&](int r) { return e.from(r); });
  for (const auto& child : binomial::children(position, speakers.hosts.count()))
    sources.push_back(e.from(speakers.at(child.top)));
  if (position == 0)
    e.move(0, sources, {out()}, kFinal);
  else
    e.move(0, sources, {e.to(speakers.at(binomial::parent(position)))});
}

}  // namespace gyre::algo
