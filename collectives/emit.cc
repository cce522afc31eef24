#include "collectives/emit.h"

#include <limits>

#include "base/check.h"

namespace gyre {
namespace {

std::int32_t modulo(std::int64_t value, std::int64_t modulus) {
  return static_cast<std::int32_t>(((value % modulus) + modulus) % modulus);
}

std::uint8_t narrow(std::size_t count) {
  GYRE_CHECK(count <= std::numeric_limits<std::uint8_t>::max());
  return static_cast<std::uint8_t>(count);
}

int operand_count(const Move& move) {
  return move.waits + move.sources + move.targets + move.posts;
}

bool same_shape(const Move& a, const Move& b) {
  return a.waits == b.waits && a.sources == b.sources && a.targets == b.targets &&
         a.posts == b.posts && a.flags == b.flags;
}

}  // namespace

Emitter::Emitter(const Shape& shape, Program& program, Sizes sizes)
    : program_(program), rank_(shape.rank), size_(shape.size()) {
  program.blocks = sizes.blocks;
  program.parts = static_cast<std::uint16_t>(sizes.parts);
  program.scratch_blocks = sizes.scratch_blocks;
}

Operand Emitter::edge(int peer, int index, bool outgoing, bool token) {
  const EdgeSpec spec{wrap(peer), static_cast<std::uint16_t>(index), outgoing, token};
  const Place place = token ? Place::token : Place::fifo;
  auto& edges = program_.edges;
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (edges[i] == spec) return {place, static_cast<std::uint16_t>(i)};
  GYRE_CHECK(edges.size() <= std::numeric_limits<std::uint16_t>::max());
  edges.push_back(spec);
  return {place, static_cast<std::uint16_t>(edges.size() - 1)};
}

Operand Emitter::peer_in(int peer, std::int32_t block) const {
  return {Place::peer_input, static_cast<std::uint16_t>(wrap(peer)), block};
}

Operand Emitter::peer_out(int peer, std::int32_t block) const {
  return {Place::peer_output, static_cast<std::uint16_t>(wrap(peer)), block};
}

void Emitter::lane(int part, bool own_loops) {
  GYRE_CHECK(part < program_.parts);
  Lane lane;
  lane.first = static_cast<std::uint32_t>(program_.moves.size());
  lane.part = static_cast<std::uint16_t>(part);
  lane.own_loops = own_loops;
  program_.lanes.push_back(lane);
  section_ = Section::body;
}

void Emitter::prologue() {
  GYRE_CHECK(program_.lanes.back().body == 0);
  section_ = Section::prologue;
}

void Emitter::body() {
  GYRE_CHECK(section_ == Section::prologue);
  section_ = Section::body;
}

void Emitter::epilogue() { section_ = Section::epilogue; }

std::uint32_t& Emitter::section_length() {
  Lane& lane = program_.lanes.back();
  if (section_ == Section::prologue) return lane.prologue;
  return section_ == Section::body ? lane.body : lane.epilogue;
}

Ref Emitter::resolve(const Operand& operand, std::int32_t block) const {
  Ref ref{.place = operand.place, .edge = operand.edge};
  if (operand.place == Place::token) return ref;
  const std::int32_t named = operand.block == Operand::kHere ? block : operand.block;
  const bool scratch = operand.place == Place::scratch;
  ref.block = modulo(named, scratch ? program_.scratch_blocks : program_.blocks);
  return ref;
}

void Emitter::move(std::int32_t block, const Operands& sources, const Operands& targets,
                   std::uint16_t flags) {
  Move move;
  move.ref = static_cast<std::uint32_t>(program_.refs.size());
  move.sources = narrow(sources.size());
  move.targets = narrow(targets.size());
  move.flags = flags;
  for (const Operand& source : sources) program_.refs.push_back(resolve(source, block));
  for (const Operand& target : targets) program_.refs.push_back(resolve(target, block));
  append(move);
}

void Emitter::wait(const Operands& tokens) {
  Move move;
  move.ref = static_cast<std::uint32_t>(program_.refs.size());
  move.waits = narrow(tokens.size());
  for (const Operand& token : tokens) program_.refs.push_back(resolve(token, 0));
  append(move);
}

void Emitter::post(const Operands& tokens) {
  Move move;
  move.ref = static_cast<std::uint32_t>(program_.refs.size());
  move.posts = narrow(tokens.size());
  for (const Operand& token : tokens) program_.refs.push_back(resolve(token, 0));
  append(move);
}

// A move continues `last` when one more turn of `last` is exactly it.
bool Emitter::continues(const Move& last, const Move& next) const {
  if (!same_shape(last, next) || last.repeat == std::numeric_limits<std::uint16_t>::max())
    return false;
  if (next.sources + next.targets == 0) return false;
  for (int i = 0; i < operand_count(next); ++i) {
    const Ref& before = program_.refs[last.ref + static_cast<unsigned>(i)];
    const Ref& after = program_.refs[next.ref + static_cast<unsigned>(i)];
    if (before.place != after.place || before.edge != after.edge) return false;
    if (block_at(program_, last, before, last.repeat) != after.block) return false;
  }
  return true;
}

void Emitter::append(Move next) {
  GYRE_CHECK(!program_.lanes.empty());
  std::uint32_t& length = section_length();
  if (length > 0) {
    Move last = program_.moves.back();
    if (last.repeat == 1 && next.sources + next.targets > 0 && same_shape(last, next)) {
      const std::int32_t half = program_.blocks / 2;
      const std::int32_t step = extent_block(program_, next) - extent_block(program_, last);
      last.block_step = modulo(step + half, program_.blocks) - half;
    }
    if (continues(last, next)) {
      ++last.repeat;
      program_.moves.back() = last;
      program_.refs.resize(next.ref);
      return;
    }
  }
  program_.moves.push_back(next);
  ++length;
}

}  // namespace gyre
