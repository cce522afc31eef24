// Does the prover see faults? Every algorithm gets one random edit at a time. What the prover still
// passes must be harmless: it is run on real numbers in many orders of turns.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "collectives/prove.h"
#include "interpreter.h"
#include "shapes.h"

namespace gyre {
namespace {

enum class Edit {
  drop_move,
  drop_operand,
  swap_moves,
  swap_sources,
  other_place,
  other_block,
  other_edge,
  flip_final,
  other_repeat,
  other_step
};
constexpr int kEdits = 10;
constexpr std::array<const char*, kEdits> kEditNames = {
    "drop_move",   "drop_operand", "swap_moves", "swap_sources", "other_place",
    "other_block", "other_edge",   "flip_final", "other_repeat", "other_step"};

using Random = std::mt19937_64;

template <class T>
std::size_t pick(Random& random, const std::vector<T>& from) {
  return random() % from.size();
}

// Which section of which lane move m is in, so that edits keep lanes whole.
std::uint32_t* section_of(Program& p, std::uint32_t m) {
  for (Lane& lane : p.lanes) {
    std::uint32_t first = lane.first;
    for (std::uint32_t* length : {&lane.prologue, &lane.body, &lane.epilogue}) {
      if (m >= first && m < first + *length) return length;
      first += *length;
    }
  }
  return nullptr;
}

bool drop_move(Program& p, std::uint32_t m) {
  --*section_of(p, m);
  p.moves.erase(p.moves.begin() + m);
  for (Lane& lane : p.lanes)
    if (lane.first > m) --lane.first;
  return true;
}

bool drop_operand(Program& p, Move& move, unsigned i) {
  std::uint8_t* const counts[] = {&move.waits, &move.sources, &move.targets, &move.posts};
  unsigned first = 0;
  for (std::uint8_t* count : counts) {
    if (i < first + *count) {
      for (unsigned k = i; k + 1 < unsigned{move.waits} + move.sources + move.targets + move.posts;
           ++k)
        p.refs[move.ref + k] = p.refs[move.ref + k + 1];
      --*count;
      return true;
    }
    first += *count;
  }
  return false;
}

Place other_place(Place place) {
  switch (place) {
    case Place::input:
      return Place::output;
    case Place::output:
      return Place::input;
    case Place::peer_input:
      return Place::peer_output;
    case Place::peer_output:
      return Place::peer_input;
    default:
      return place;
  }
}

// False when the edit does not apply or changes nothing.
bool mutate(Program& p, Edit edit, Random& random) {
  if (p.moves.empty()) return false;
  const auto m = static_cast<std::uint32_t>(pick(random, p.moves));
  Move& move = p.moves[m];
  const unsigned operands = unsigned{move.waits} + move.sources + move.targets + move.posts;
  const auto i = static_cast<unsigned>(random() % operands);
  Ref& ref = p.refs[move.ref + i];
  switch (edit) {
    case Edit::drop_move:
      return drop_move(p, m);
    case Edit::drop_operand:
      return drop_operand(p, move, i);
    case Edit::swap_moves:
      if (m + 1 == p.moves.size() || section_of(p, m) != section_of(p, m + 1)) return false;
      std::swap(p.moves[m], p.moves[m + 1]);
      return true;
    case Edit::swap_sources:
      if (move.sources < 2) return false;
      std::swap(p.refs[move.ref + move.waits], p.refs[move.ref + move.waits + 1u]);
      return true;
    case Edit::other_place: {
      const Place before = ref.place;
      ref.place = other_place(before);
      return ref.place != before;
    }
    case Edit::other_block:
      if (ref.place == Place::token || p.blocks == 1) return false;
      ref.block = (ref.block + 1) % (ref.place == Place::scratch ? p.scratch_blocks : p.blocks);
      return true;
    case Edit::other_edge: {
      if (ref.place != Place::fifo && ref.place != Place::token) return false;
      const auto before = ref.edge;
      ref.edge = static_cast<std::uint16_t>(pick(random, p.edges));
      return ref.edge != before && p.edges[ref.edge].outgoing == p.edges[before].outgoing;
    }
    case Edit::flip_final:
      move.flags ^= kFinal;
      return move.sources > 0;
    case Edit::other_repeat:
      move.repeat = static_cast<std::uint16_t>(random() % 2 && move.repeat > 1 ? move.repeat - 1
                                                                               : move.repeat + 1);
      return true;
    case Edit::other_step:
      ++move.block_step;
      return move.repeat > 1 && p.blocks > 1;
  }
  return false;
}

// Empty when the mutant cannot be told from the original by anything that it computes.
std::string harm(const std::vector<Program>& programs, const Contract& contract, int slots) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const Execution how{.slots = seed % 2 ? slots : 8,
                        .count = 90,
                        .chunk = 1 + seed * 2,
                        .in_place = contract.allows_in_place() && seed % 4 < 2,
                        .seed = seed};
    if (std::string wrong = interpret(programs, contract, how); !wrong.empty()) return wrong;
  }
  return {};
}

struct Count {
  int made = 0, killed = 0;
};

void hunt(const Entry& entry, int n, Random& random, std::array<Count, kEdits>& counts) {
  const Layout layout = layout_for(entry, n);
  const Shape shape{
      entry.collective, entry.algorithm, 0,
      has_root(entry.collective) ? static_cast<int>(random() % static_cast<unsigned>(n)) : 0,
      &layout};
  if (!entry.valid(shape)) return;
  const auto original = build_all(shape);
  const Contract contract = contract_of(shape);
  for (int draw = 0; draw < 80; ++draw) {
    std::vector<Program> mutant = *original;
    const int edit = draw % kEdits;
    if (!mutate(mutant[pick(random, mutant)], static_cast<Edit>(edit), random)) continue;
    Count& count = counts[static_cast<std::size_t>(edit)];
    ++count.made;
    const Verdict verdict = prove_all_cases(mutant, contract, entry.slots_min);
    if (!verdict.proved() || (entry.rank_order && !verdict.rank_order)) {
      ++count.killed;
      continue;
    }
    EXPECT_EQ(harm(mutant, contract, entry.slots_min), "")
        << "the prover passed " << name_of(entry) << " of " << n << " with "
        << kEditNames[static_cast<std::size_t>(edit)];
  }
}

TEST(Mutation, what_the_prover_passes_is_harmless) {
  Random random(425);
  std::array<Count, kEdits> counts{};
  for (const Entry& entry : catalog())
    if (!is_point_to_point(entry.collective))
      for (const int n : {2, 3, 4, 5, 6, 8}) hunt(entry, n, random, counts);
  int made = 0, killed = 0;
  for (std::size_t i = 0; i < kEdits; ++i) {
    made += counts[i].made;
    killed += counts[i].killed;
    std::printf("  %-12s %5d made %5d killed\n", kEditNames[i], counts[i].made, counts[i].killed);
  }
  EXPECT_GT(made, 5000);
  EXPECT_GT(killed, made * 8 / 10);
}

}  // namespace
}  // namespace gyre
