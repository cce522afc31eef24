#include "collectives/catalog.h"

#include <array>

#include "collectives/algo/binomial.h"
#include "collectives/algo/bruck.h"
#include "collectives/algo/circulant.h"
#include "collectives/algo/doubling.h"
#include "collectives/algo/halving.h"
#include "collectives/algo/hierarchical.h"
#include "collectives/algo/one_shot.h"
#include "collectives/algo/pairwise.h"
#include "collectives/algo/ring.h"
#include "collectives/algo/tree.h"
#include "collectives/algo/two_shot.h"
#include "collectives/algo/window_pull.h"
#include "collectives/algo/window_push.h"
#include "collectives/emit.h"

namespace gyre {
namespace {

using enum Algorithm;
using C = Collective;

constexpr std::array<const char*, kAlgorithmCount> kNames = {
    "ring",        "tree",        "doubling", "halving",  "circulant", "one_shot",    "two_shot",
    "window_push", "window_pull", "bruck",    "pairwise", "binomial",  "hierarchical"};

bool any_shape(const Shape&) { return true; }
bool direct_shape(const Shape& shape) { return shape.size() <= kDirectRanksMax; }

// Windows reach within one host.
bool window_shape(const Shape& shape) { return direct_shape(shape) && shape.layout->single_host(); }
bool host_shape(const Shape& shape) {
  constexpr std::size_t kHostRanksMax =
      128;  // all of a host and the rounds across hosts in one move
  for (const auto& host : shape.layout->hosts)
    if (host.size() > kHostRanksMax) return false;
  return !shape.layout->single_host();
}

constexpr bool kWindows = true, kFifos = false;
constexpr bool kRankOrder = true,
               kAnyOrder = false;  // what only copies is in rank order for nothing

constexpr Entry kCatalog[] = {
    {C::all_reduce, ring, kFifos, kAnyOrder, 2, any_shape, algo::ring_all_reduce},
    {C::all_reduce, tree, kFifos, kAnyOrder, 1, any_shape, algo::tree_all_reduce},
    {C::all_reduce, doubling, kFifos, kAnyOrder, 1, any_shape, algo::doubling_all_reduce},
    {C::all_reduce, halving, kFifos, kAnyOrder, 2, any_shape, algo::halving_all_reduce},
    {C::all_reduce, circulant, kFifos, kAnyOrder, 2, any_shape, algo::circulant_all_reduce},
    {C::all_reduce, one_shot, kFifos, kRankOrder, 1, direct_shape, algo::one_shot_all_reduce},
    {C::all_reduce, two_shot, kFifos, kRankOrder, 1, direct_shape, algo::two_shot_all_reduce},
    {C::all_reduce, window_push, kWindows, kRankOrder, 1, window_shape, algo::push_all_reduce},
    {C::all_reduce, window_pull, kWindows, kRankOrder, 1, window_shape, algo::pull_all_reduce},
    {C::all_reduce, hierarchical, kFifos, kAnyOrder, 2, host_shape, algo::hierarchical_all_reduce},

    {C::broadcast, ring, kFifos, kRankOrder, 1, any_shape, algo::ring_broadcast},
    {C::broadcast, tree, kFifos, kRankOrder, 1, any_shape, algo::tree_broadcast},
    {C::broadcast, binomial, kFifos, kRankOrder, 1, any_shape, algo::binomial_broadcast},
    {C::broadcast, one_shot, kFifos, kRankOrder, 1, direct_shape, algo::one_shot_broadcast},
    {C::broadcast, window_push, kWindows, kRankOrder, 1, window_shape, algo::push_broadcast},
    {C::broadcast, window_pull, kWindows, kRankOrder, 1, window_shape, algo::pull_broadcast},
    {C::broadcast, hierarchical, kFifos, kRankOrder, 1, host_shape, algo::hierarchical_broadcast},

    {C::reduce, ring, kFifos, kAnyOrder, 1, any_shape, algo::ring_reduce},
    {C::reduce, tree, kFifos, kAnyOrder, 1, any_shape, algo::tree_reduce},
    {C::reduce, binomial, kFifos, kAnyOrder, 1, any_shape, algo::binomial_reduce},
    {C::reduce, one_shot, kFifos, kRankOrder, 1, direct_shape, algo::one_shot_reduce},
    {C::reduce, window_push, kWindows, kRankOrder, 1, window_shape, algo::push_reduce},
    {C::reduce, window_pull, kWindows, kRankOrder, 1, window_shape, algo::pull_reduce},
    {C::reduce, hierarchical, kFifos, kAnyOrder, 1, host_shape, algo::hierarchical_reduce},

    {C::all_gather, ring, kFifos, kRankOrder, 2, any_shape, algo::ring_all_gather},
    {C::all_gather, doubling, kFifos, kRankOrder, 1, any_shape, algo::doubling_all_gather},
    {C::all_gather, circulant, kFifos, kRankOrder, 1, any_shape, algo::circulant_all_gather},
    {C::all_gather, one_shot, kFifos, kRankOrder, 1, direct_shape, algo::one_shot_all_gather},
    {C::all_gather, window_push, kWindows, kRankOrder, 1, window_shape, algo::push_all_gather},
    {C::all_gather, window_pull, kWindows, kRankOrder, 1, window_shape, algo::pull_all_gather},
    {C::all_gather, hierarchical, kFifos, kRankOrder, 1, host_shape, algo::hierarchical_all_gather},

    {C::reduce_scatter, ring, kFifos, kAnyOrder, 2, any_shape, algo::ring_reduce_scatter},
    {C::reduce_scatter, halving, kFifos, kAnyOrder, 1, any_shape, algo::halving_reduce_scatter},
    {C::reduce_scatter, circulant, kFifos, kAnyOrder, 1, any_shape, algo::circulant_reduce_scatter},
    {C::reduce_scatter, two_shot, kFifos, kRankOrder, 1, direct_shape,
     algo::two_shot_reduce_scatter},
    {C::reduce_scatter, window_push, kWindows, kRankOrder, 1, window_shape,
     algo::push_reduce_scatter},
    {C::reduce_scatter, window_pull, kWindows, kRankOrder, 1, window_shape,
     algo::pull_reduce_scatter},
    {C::reduce_scatter, hierarchical, kFifos, kAnyOrder, 1, host_shape,
     algo::hierarchical_reduce_scatter},

    {C::all_to_all, pairwise, kFifos, kRankOrder, 1, any_shape, algo::pairwise_all_to_all},
    {C::all_to_all, bruck, kFifos, kRankOrder, 1, any_shape, algo::bruck_all_to_all},
    {C::all_to_all, window_push, kWindows, kRankOrder, 1, window_shape, algo::push_all_to_all},
    {C::all_to_all, window_pull, kWindows, kRankOrder, 1, window_shape, algo::pull_all_to_all},

    {C::gather, pairwise, kFifos, kRankOrder, 1, any_shape, algo::pairwise_gather},
    {C::gather, binomial, kFifos, kRankOrder, 1, any_shape, algo::binomial_gather},
    {C::gather, window_push, kWindows, kRankOrder, 1, window_shape, algo::push_gather},
    {C::gather, window_pull, kWindows, kRankOrder, 1, window_shape, algo::pull_gather},

    {C::scatter, pairwise, kFifos, kRankOrder, 1, any_shape, algo::pairwise_scatter},
    {C::scatter, binomial, kFifos, kRankOrder, 1, any_shape, algo::binomial_scatter},
    {C::scatter, window_push, kWindows, kRankOrder, 1, window_shape, algo::push_scatter},
    {C::scatter, window_pull, kWindows, kRankOrder, 1, window_shape, algo::pull_scatter},

    {C::all_gather_v, ring, kFifos, kRankOrder, 2, any_shape, algo::ring_all_gather},
    {C::all_gather_v, circulant, kFifos, kRankOrder, 1, any_shape, algo::circulant_all_gather},
    {C::all_gather_v, one_shot, kFifos, kRankOrder, 1, direct_shape, algo::one_shot_all_gather},
    {C::reduce_scatter_v, ring, kFifos, kAnyOrder, 2, any_shape, algo::ring_reduce_scatter},
    {C::reduce_scatter_v, circulant, kFifos, kAnyOrder, 1, any_shape,
     algo::circulant_reduce_scatter},
    {C::reduce_scatter_v, two_shot, kFifos, kRankOrder, 1, direct_shape,
     algo::two_shot_reduce_scatter},
    {C::all_to_all_v, pairwise, kFifos, kRankOrder, 1, any_shape, algo::pairwise_all_to_all_v},

    {C::barrier, doubling, kFifos, kRankOrder, 1, any_shape, algo::doubling_barrier},
    {C::send, pairwise, kFifos, kRankOrder, 1, any_shape, algo::pairwise_send},
    {C::recv, pairwise, kFifos, kRankOrder, 1, any_shape, algo::pairwise_recv},
};

// One rank has no peers: its input is the result.
void build_alone(const Shape& shape, Program& program) {
  if (shape.collective == C::barrier) return;
  const bool v = shape.collective == C::all_to_all_v;  // its receive side has blocks of its own
  Emitter e(shape, program, {.blocks = v ? 2 : 1});
  e.lane();
  e.move(0, {in()}, {v ? out(1) : out()}, reduces(shape.collective) ? kFinal : std::uint16_t{0});
}

bool point_to_point(Collective collective) {
  return collective == C::send || collective == C::recv;
}

}  // namespace

const char* to_text(Algorithm algorithm) { return kNames[static_cast<std::size_t>(algorithm)]; }

Result<Algorithm> parse_algorithm(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (text == kNames[i]) return static_cast<Algorithm>(i);
  std::string known;
  for (const char* name : kNames) known += fmt::format(" {}", name);
  return error(Code::invalid_argument, "algorithm '{}' is not known; there are{}", text, known);
}

bool reduces(Collective collective) {
  return collective == C::all_reduce || collective == C::reduce ||
         collective == C::reduce_scatter || collective == C::reduce_scatter_v;
}

std::span<const Entry> catalog() { return kCatalog; }

const Entry* find_entry(Collective collective, Algorithm algorithm) {
  for (const Entry& entry : kCatalog)
    if (entry.collective == collective && entry.algorithm == algorithm) return &entry;
  return nullptr;
}

Result<Program> build_program(const Shape& shape) {
  const Entry* entry = find_entry(shape.collective, shape.algorithm);
  if (!entry)
    return error(Code::invalid_argument, "{} has no algorithm {}", to_text(shape.collective),
                 to_text(shape.algorithm));
  const int size = shape.size();
  if (shape.rank < 0 || shape.rank >= size || shape.root < 0 || shape.root >= size)
    return error(Code::invalid_argument, "rank {} or root {} is not below {}", shape.rank,
                 shape.root, size);
  if (!entry->valid(shape))
    return error(Code::invalid_argument, "{} {} is not possible on {} ranks on {} hosts",
                 to_text(shape.collective), to_text(shape.algorithm), size,
                 shape.layout->hosts.size());
  Program program;
  if (size == 1 && !point_to_point(shape.collective))
    build_alone(shape, program);
  else
    entry->build(shape, program);
  program.slots_min = entry->slots_min;
  return program;
}

}  // namespace gyre
