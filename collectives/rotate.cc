#include "collectives/rotate.h"

#include <deque>

#include "collectives/values.h"
#include "collectives/wiring.h"

namespace gyre {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

bool same_move(const Move& a, const Move& b) {
  return a.ref == b.ref && a.waits == b.waits && a.sources == b.sources && a.targets == b.targets &&
         a.posts == b.posts && a.repeat == b.repeat && a.flags == b.flags &&
         a.block_step == b.block_step;
}

// One rank of a circle on which all do the same. What he hears from the peer p above is what he
// tells the one p below, turned by p; both hang on one count of slots.
class Rotation {
 public:
  Rotation(const Program& zero, const Contract& contract, int slots)
      : p_(zero), contract_(contract), slots_(slots), values_(contract.size) {
    for (const EdgeSpec& spec : zero.edges) twins_.push_back(spec.outgoing ? -1 : twin_of(spec));
    sent_.resize(zero.edges.size());
  }

  Verdict run(int loops) {
    for (const int twin : twins_)
      if (twin == kNone) return {.fault = "an edge has no twin: not a rotating plan"};
    Verdict verdict;
    output_.assign(at(p_.blocks), -1);
    std::uint64_t loop = 0;
    for (Cursor c(p_, p_.lanes[0], static_cast<std::uint64_t>(loops)); !c.done(); c.next()) {
      if (c.loop() != loop) {
        check_results(loop, verdict);
        loop = c.loop();
        output_.assign(at(p_.blocks), -1);
      }
      if (verdict.fault.empty()) verdict.fault = turn(c);
      if (!verdict.fault.empty()) return verdict;
      ++verdict.turns;
    }
    check_results(loop, verdict);
    for (const auto& edge : sent_)
      if (!edge.empty()) verdict.fault = "something is left in an edge";
    return verdict;
  }

 private:
  static constexpr int kNone = -2;

  // The outgoing edge that is to the peer below what `spec` is from the peer above.
  int twin_of(const EdgeSpec& spec) const {
    const int below = (contract_.size - spec.peer) % contract_.size;
    for (std::size_t i = 0; i < p_.edges.size(); ++i)
      if (p_.edges[i] == EdgeSpec{below, spec.index, true, spec.token}) return static_cast<int>(i);
    return kNone;
  }

  std::string turn(const Cursor& c) {
    const Move& move = c.move();
    for (const Ref& ref : sources_of(p_, move))
      if (ref.place == Place::fifo && sent_[at(twins_[ref.edge])].empty())
        return fmt::format("deadlock: move {} turn {} waits for something", c.move_index(),
                           c.turn());
    for (const Ref& ref : targets_of(p_, move))
      if (ref.place == Place::fifo && static_cast<int>(sent_[ref.edge].size()) == slots_)
        return fmt::format("deadlock: move {} turn {} waits for room", c.move_index(), c.turn());
    std::vector<int> sources;
    for (const Ref& ref : sources_of(p_, move)) {
      sources.push_back(take(c, ref));
      if (sources.back() < 0) return "reads what is not there";
    }
    std::string why;
    int value = values_.combine(sources, why);
    if (value >= 0 && (move.flags & kFinal)) value = values_.finish(value);
    if (value < 0) return why.empty() ? "finishes what is finished" : why;
    for (const Ref& ref : targets_of(p_, move)) {
      if (ref.place == Place::fifo)
        sent_[ref.edge].push_back(value);
      else
        output_[at(block_at(p_, move, ref, c.turn()))] = value;
    }
    return {};
  }

  int take(const Cursor& c, const Ref& ref) {
    const std::int32_t block = block_at(p_, c.move(), ref, c.turn());
    if (ref.place == Place::output) return output_[at(block)];
    if (ref.place == Place::input) {
      const auto content = contract_.before(0, block);
      return content ? values_.leaf({content->piece, c.loop(), 0}, 0) : -1;
    }
    auto& edge = sent_[at(twins_[ref.edge])];
    const int value = values_.rotated(edge.front(), p_.edges[ref.edge].peer);
    edge.pop_front();
    return value;
  }

  // By symmetry, block b here is block b + r on rank r: all ranks agree when all blocks here do.
  void check_results(std::uint64_t loop, Verdict& verdict) {
    std::uint64_t tree = 0;
    for (std::int32_t block = 0; block < p_.blocks && verdict.fault.empty(); ++block) {
      const auto content = contract_.after(0, block);
      if (!content) continue;
      const int id = output_[at(block)];
      const bool everyone = content->contributor == Content::kEveryone;
      if (id < 0 || values_[id].spot != Spot{content->piece, loop, 0} ||
          !(everyone ? values_.has_everyone(id) : values_.has_only(id, content->contributor)) ||
          values_[id].final != everyone || (tree != 0 && tree != values_[id].tree))
        verdict.fault = fmt::format("output block {} is not right", block);
      else
        tree = values_[id].tree;
      if (id < 0) continue;
      verdict.roundings = std::max(verdict.roundings, values_[id].roundings);
      verdict.additions = std::max(verdict.additions, values_[id].additions);
    }
  }

  const Program& p_;
  const Contract& contract_;
  int slots_;
  Values values_;
  std::vector<int> twins_;  // per edge: the twin of an incoming one
  std::vector<std::deque<int>> sent_;
  std::vector<int> output_;
};

}  // namespace

bool is_rotation(const Program& zero, const Program& program, int by, int size) {
  if (zero.blocks != size || program.blocks != size || zero.refs.size() != program.refs.size() ||
      zero.edges.size() != program.edges.size() || zero.moves.size() != program.moves.size())
    return false;
  for (std::size_t i = 0; i < zero.moves.size(); ++i)
    if (!same_move(zero.moves[i], program.moves[i])) return false;
  for (std::size_t i = 0; i < zero.edges.size(); ++i) {
    EdgeSpec turned = zero.edges[i];
    turned.peer = (turned.peer + by) % size;
    if (!(turned == program.edges[i])) return false;
  }
  for (std::size_t i = 0; i < zero.refs.size(); ++i) {
    const Ref &a = zero.refs[i], &b = program.refs[i];
    if (a.place != b.place || a.edge != b.edge || (a.block + by) % size != b.block) return false;
  }
  return true;
}

Verdict prove_rotating(const Program& zero, const Contract& contract, int slots, int loops) {
  if (zero.lanes.size() != 1) return {.fault = "not a plan of one lane"};
  return Rotation(zero, contract, slots).run(loops);
}

}  // namespace gyre
