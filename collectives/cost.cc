#include "collectives/cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "collectives/wiring.h"

namespace gyre {
namespace {

using C = Collective;

int log2_up(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1))); }
int log2_down(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n))) - 1; }

// Steps of a flat algorithm on n >= 2 ranks, each at least one message after another.
int flat_steps(C c, Algorithm algorithm, int n) {
  const bool both_ways = c == C::all_reduce;
  const int folding = std::has_single_bit(static_cast<unsigned>(n)) ? 0 : 1;
  switch (algorithm) {
    case Algorithm::ring:
      return (both_ways ? 2 : 1) * (n - 1);
    case Algorithm::tree:
      return both_ways ? 2 * log2_down(n) : 1 + log2_down(n - 1);
    case Algorithm::doubling:
      return c == C::barrier ? log2_up(n) : log2_down(n) + 2 * folding;
    case Algorithm::halving:
      return (both_ways ? 2 : 1) * log2_down(n) + 2 * folding;
    case Algorithm::circulant:
      return (both_ways ? 2 : 1) * log2_up(n);
    case Algorithm::two_shot:
      return both_ways ? 2 : 1;
    case Algorithm::window_push:
      return 2;
    case Algorithm::window_pull:
      return both_ways ? 3 : 2;
    case Algorithm::bruck:
    case Algorithm::binomial:
      return log2_up(n);
    case Algorithm::one_shot:
    case Algorithm::pairwise:
    case Algorithm::hierarchical:
      return 1;
  }
  return 1;
}

// Where data flows through a rank in every loop, depth is paid once and then hidden.
bool is_pipeline(C c, Algorithm algorithm) {
  if (algorithm == Algorithm::tree) return true;
  if (c != C::broadcast && c != C::reduce) return false;
  return algorithm == Algorithm::ring || algorithm == Algorithm::binomial ||
         algorithm == Algorithm::hierarchical;
}

void count_steps(const Entry& entry, const Layout& layout, Cost& cost) {
  const int hosts = static_cast<int>(layout.hosts.size());
  if (entry.algorithm == Algorithm::hierarchical) {
    const bool both_ways = entry.collective == C::all_reduce;
    const bool rooted = entry.collective == C::broadcast || entry.collective == C::reduce;
    cost.across_steps = (both_ways ? 2 : 1) * log2_up(hosts);
    cost.local_steps = rooted ? 1 : 2;
  } else {
    const int steps = flat_steps(entry.collective, entry.algorithm, layout.size);
    // A ring crosses each host's border once per turn; the others may cross at every step.
    cost.across_steps = hosts == 1                           ? 0
                        : entry.algorithm == Algorithm::ring ? std::min(steps, 2 * hosts)
                                                             : steps;
    cost.local_steps = steps - cost.across_steps;
  }
  if (is_pipeline(entry.collective, entry.algorithm))
    cost.fill_steps = cost.local_steps + cost.across_steps;
}

struct Counted {
  double messages = 0, touched = 0, across = 0;
};

Counted count_program(const Program& p, int rank, const std::vector<int>& host_of) {
  Counted counted;
  const double share = 1.0 / p.parts;
  for (const Move& move : p.moves) {
    const int operands = move.waits + move.sources + move.targets + move.posts;
    for (int i = 0; i < operands; ++i) {
      const Ref& ref = p.refs[move.ref + static_cast<unsigned>(i)];
      const bool edge = ref.place == Place::fifo || ref.place == Place::token;
      if (edge) counted.messages += move.repeat;
      if (ref.place == Place::token) continue;
      counted.touched += share * move.repeat;
      if (!edge || !p.edges[ref.edge].outgoing) continue;
      const auto peer = static_cast<std::size_t>(p.edges[ref.edge].peer);
      if (host_of[peer] != host_of[static_cast<std::size_t>(rank)])
        counted.across += share * move.repeat;
    }
  }
  return counted;
}

bool cuts_one_buffer(C c) {
  return c == C::all_reduce || c == C::reduce || c == C::broadcast || c == C::send || c == C::recv;
}

}  // namespace

Cost cost_of(const Entry& entry, const Layout& layout) {
  constexpr std::size_t kRanksCounted = 16;  // more tell nothing new
  Cost cost;
  if (layout.size > 1) count_steps(entry, layout, cost);
  std::vector<int> host_of(static_cast<std::size_t>(layout.size));
  const std::vector<int>* largest = &layout.hosts[0];
  for (std::size_t h = 0; h < layout.hosts.size(); ++h) {
    for (const int rank : layout.hosts[h])
      host_of[static_cast<std::size_t>(rank)] = static_cast<int>(h);
    if (layout.hosts[h].size() > largest->size()) largest = &layout.hosts[h];
  }
  const std::size_t step = (largest->size() + kRanksCounted - 1) / kRanksCounted;
  for (std::size_t i = 0; i < largest->size(); i += step) {
    const int rank = (*largest)[i];
    Program p;
    if (layout.size > 1) entry.build({entry.collective, entry.algorithm, rank, 0, &layout}, p);
    const Counted counted = count_program(p, rank, host_of);
    cost.blocks = p.blocks;
    cost.messages = std::max(cost.messages, counted.messages);
    cost.touched_blocks = std::max(cost.touched_blocks, counted.touched);
    cost.across_blocks += counted.across * static_cast<double>(step);
  }
  return cost;
}

double microseconds(const Cost& cost, Collective collective, std::uint64_t bytes,
                    const CostConstants& constants) {
  const double block = static_cast<double>(bytes) / (cuts_one_buffer(collective) ? cost.blocks : 1);
  const auto chunk = static_cast<double>(constants.chunk_bytes);
  const double loops = std::max(1.0, std::ceil(block / chunk));
  const double per_byte = cost.across_steps > 0 ? constants.across_byte : constants.touched_byte;
  return cost.local_steps * constants.local_step + cost.across_steps * constants.across_step +
         cost.fill_steps * std::min(block, chunk) * per_byte +
         cost.messages * loops * constants.message +
         cost.touched_blocks * block * constants.touched_byte +
         cost.across_blocks * block * constants.across_byte;
}

}  // namespace gyre
