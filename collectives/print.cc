#include "collectives/print.h"

#include "collectives/memory.h"
#include "collectives/wiring.h"

#include <algorithm>

namespace gyre {
namespace {

std::string peer_of(const Program& program, const Ref& ref) {
  const EdgeSpec& edge = program.edges[ref.edge];
  std::string text = fmt::format("{}", edge.peer);
  if (edge.index == kPointToPointEdge) return text;
  return edge.index == 0 ? text : fmt::format("{}.{}", text, edge.index);
}

// block: also of edges, which elsewhere have the block of the buffers beside them.
std::string ref_text(const Program& program, const Ref& ref, bool target, bool block) {
  switch (ref.place) {
    case Place::input:
      return fmt::format("in[{}]", ref.block);
    case Place::output:
      return fmt::format("out[{}]", ref.block);
    case Place::scratch:
      return fmt::format("scratch[{}]", ref.block);
    case Place::peer_input:
      return fmt::format("in[{}] of {}", ref.block, ref.edge);
    case Place::peer_output:
      return fmt::format("out[{}] of {}", ref.block, ref.edge);
    case Place::token:
      return peer_of(program, ref);
    case Place::fifo:
      break;
  }
  const char* word = target ? "to" : "from";
  if (!block) return fmt::format("{} {}", word, peer_of(program, ref));
  return fmt::format("{} {} [{}]", word, peer_of(program, ref), ref.block);
}

std::string joined(const Program& program, std::span<const Ref> refs, const char* between,
                   bool target, bool block) {
  std::string text;
  for (const Ref& ref : refs) {
    if (!text.empty()) text += between;
    text += ref_text(program, ref, target, block);
  }
  return text;
}

bool names_a_buffer(std::span<const Ref> refs) {
  return std::any_of(refs.begin(), refs.end(), touches_memory);
}

void add_section(std::string& table, const char* name, const Program& program, std::uint32_t first,
                 std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i)
    table += fmt::format("  {:<8} {:>3}  {}\n", i == 0 ? name : "", i,
                         to_text(program, program.moves[first + i]));
}

}  // namespace

std::string to_text(const Program& program, const Move& move) {
  const auto sources = sources_of(program, move), targets = targets_of(program, move);
  const bool block = !names_a_buffer(sources) && !names_a_buffer(targets);
  std::string text;
  if (move.waits > 0)
    text +=
        fmt::format("wait for {}", joined(program, waits_of(program, move), ", ", false, false));
  if (move.sources > 0) {
    if (!text.empty()) text += "; ";
    text += joined(program, sources, " + ", false, block) + " -> " +
            joined(program, targets, ", ", true, block);
  }
  if (move.posts > 0) {
    if (!text.empty()) text += "; ";
    text += fmt::format("tell {}", joined(program, posts_of(program, move), ", ", true, false));
  }
  if (move.flags & kFinal) text += "  final";
  if (move.repeat > 1) text += fmt::format("  x{} step {:+}", move.repeat, move.block_step);
  return text;
}

std::string to_table(const Shape& shape, const Program& program) {
  std::string table = fmt::format(
      "{} {}, rank {} of {}: blocks {}, parts {}, lanes {}, moves {}, edges {}, slots at least "
      "{}\n",
      to_text(shape.collective), to_text(shape.algorithm), shape.rank, shape.size(), program.blocks,
      program.parts, program.lanes.size(), program.moves.size(), program.edges.size(),
      program.slots_min);
  for (std::size_t i = 0; i < program.lanes.size(); ++i) {
    const Lane& lane = program.lanes[i];
    table += fmt::format("lane {}, part {}{}\n", i, lane.part,
                         lane.own_loops ? ", loops of its own block" : "");
    add_section(table, "prologue", program, lane.first, lane.prologue);
    add_section(table, "body", program, lane.first + lane.prologue, lane.body);
    add_section(table, "epilogue", program, lane.first + lane.prologue + lane.body, lane.epilogue);
  }
  return table;
}

std::string to_text(const Verdict& verdict) {
  if (!verdict.proved()) return verdict.fault;
  return fmt::format("proved: turns {}, roundings at most {}, additions at most {}{}",
                     verdict.turns, verdict.roundings, verdict.additions,
                     verdict.rank_order ? ", in rank order" : "");
}

}  // namespace gyre
