#include "interpreter.h"

#include <algorithm>
#include <deque>
#include <random>

#include "collectives/flow.h"
#include "collectives/geometry.h"
#include "collectives/memory.h"

namespace gyre {
namespace {

using Number = std::uint64_t;
using Numbers = std::vector<Number>;
using C = Collective;

constexpr Number kPostScale = 7;  // seen in the result exactly once per kFinal

std::size_t at(int index) { return static_cast<std::size_t>(index); }

bool cuts_one_buffer(C c) {
  return c == C::all_reduce || c == C::reduce || c == C::broadcast || c == C::send || c == C::recv;
}

bool uneven(C c) {
  return c == C::all_gather_v || c == C::reduce_scatter_v || c == C::all_to_all_v;
}

class Interpreter {
 public:
  Interpreter(const std::vector<Program>& programs, const Contract& contract, const Wiring& wiring,
              const Execution& how)
      : programs_(programs), contract_(contract), how_(how), random_(how.seed) {
    for (int rank = 0; rank < contract.size; ++rank) make_rank(rank);
    flow_.emplace(programs, wiring, how.slots,
                  [this](int rank, const Lane& lane) { return loops_of(rank, lane); });
    edges_.resize(wiring.channels.size());
    scratch_.resize(wiring.lanes.size());
  }

  std::string run() {
    while (!flow_->finished()) {
      std::vector<int> ready;
      for (int lane = 0; lane < flow_->lanes(); ++lane)
        if (!flow_->done(lane) && flow_->ready(lane)) ready.push_back(lane);
      if (ready.empty()) return flow_->deadlock();
      const int lane = ready[random_() % ready.size()];
      turn(lane);
      flow_->advance(lane);
    }
    return compare();
  }

 private:
  struct Rank {
    std::vector<std::uint64_t> counts, offsets;
    Geometry geometry;
    Numbers input, output, before_input, before_output;
  };

  Rank& rank(int r) { return ranks_[at(r)]; }
  Numbers& buffer(int r, bool output) {
    return output || how_.in_place ? rank(r).output : rank(r).input;
  }

  // Blocks of equal extent key get equal counts on all ranks, some of them 0.
  std::uint64_t count_of(int r, std::int32_t block) const {
    if (!uneven(contract_.collective)) return how_.count;
    const auto key = static_cast<std::uint64_t>(contract_.extent_key(r, block));
    return (key * 2654435761u + how_.seed) % 3 == 0 ? 0 : (how_.count + key * 37) % 97;
  }

  void make_rank(int r) {
    Rank& one = ranks_.emplace_back();
    const int blocks = programs_[at(r)].blocks;
    std::uint64_t total = 0, largest = 0;
    for (std::int32_t block = 0; block < blocks; ++block) {
      one.counts.push_back(count_of(r, block));
      one.offsets.push_back(total);
      total += one.counts.back();
      largest = std::max(largest, one.counts.back());
    }
    Geometry& g = one.geometry;
    g.chunk_elems = how_.chunk;
    g.parts = programs_[at(r)].parts;
    if (cuts_one_buffer(contract_.collective)) {
      const auto cut = static_cast<std::uint64_t>(blocks);
      total = how_.count;
      largest = (how_.count + cut - 1) / cut;
      for (std::int32_t b = 0; b < blocks; ++b) one.offsets[at(b)] = largest * at(b);
    }
    g.total_elems = total;
    g.block_elems = largest;
    if (uneven(contract_.collective)) g.counts = one.counts.data();
    g.loops = g.loops_for(largest);
    one.input.resize(total);
    one.output.resize(total);
    for (Number& x : one.input) x = random_();
    for (Number& x : one.output) x = random_();
    one.before_input = one.input;
    if (how_.in_place) one.before_input = one.output;
    one.before_output = one.output;
  }

  std::uint64_t loops_of(int r, const Lane& lane) {
    const Geometry& g = rank(r).geometry;
    if (!lane.own_loops || lane.body == 0) return g.loops;
    const Program& p = programs_[at(r)];
    return g.loops_for(g.block_count(extent_block(p, p.moves[lane.first + lane.prologue])));
  }

  Number* place(int lane, const Ref& ref, const Extent& extent) {
    const int owner = owner_of(flow_->rank(lane), ref);
    const Cursor& c = flow_->cursor(lane);
    const std::int32_t block = block_at(flow_->program(lane), c.move(), ref, c.turn());
    return buffer(owner, is_output(ref)).data() + rank(owner).offsets[at(block)] + extent.offset;
  }

  Numbers& scratch(int lane, const Ref& ref) {
    const Cursor& c = flow_->cursor(lane);
    auto& blocks = scratch_[at(lane)];
    blocks.resize(at(flow_->program(lane).scratch_blocks));
    return blocks[at(block_at(flow_->program(lane), c.move(), ref, c.turn()))];
  }

  void turn(int lane) {
    const Program& p = flow_->program(lane);
    const Cursor& c = flow_->cursor(lane);
    const Move& move = c.move();
    if (move.sources == 0) return;  // tokens are counted by the flow
    const Ref named{Place::fifo, 0, 0, extent_block(p, move)};
    const Extent extent = rank(flow_->rank(lane))
                              .geometry.extent(block_at(p, move, named, c.turn()), c.loop(),
                                               flow_->lane_of(lane).part);
    Numbers sum(extent.count, 0);
    for (const Ref& ref : sources_of(p, move)) {
      Numbers chunk;
      if (ref.place == Place::fifo) {
        auto& edge = edges_[at(flow_->channel(lane, ref))];
        chunk = std::move(edge.front());
        edge.pop_front();
      } else if (ref.place == Place::scratch) {
        chunk = scratch(lane, ref);
      } else if (extent.count > 0) {
        const Number* from = place(lane, ref, extent);
        chunk.assign(from, from + extent.count);
      }
      chunk.resize(extent.count, 0xdead);  // a size that differs shows in the sum
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += chunk[i];
    }
    if (move.flags & kFinal)
      for (Number& x : sum) x *= kPostScale;
    for (const Ref& ref : targets_of(p, move)) {
      if (ref.place == Place::fifo)
        edges_[at(flow_->channel(lane, ref))].push_back(sum);
      else if (ref.place == Place::scratch)
        scratch(lane, ref) = sum;
      else if (extent.count > 0)
        std::copy(sum.begin(), sum.end(), place(lane, ref, extent));
    }
  }

  // What output block `block` of rank r must hold, from the inputs as they were.
  Number expected(int r, std::int32_t block, const Content& content, std::uint64_t i) {
    if (content.contributor == Content::kEveryone) {
      Number sum = 0;
      for (const Rank& one : ranks_) sum += one.before_input[one.offsets[at(block)] + i];
      return sum * kPostScale;
    }
    const Rank& source = rank(content.contributor);
    std::int32_t from = block;
    if (contract_.collective == C::all_to_all || contract_.collective == C::all_to_all_v) from = r;
    return source.before_input[source.offsets[at(from)] + i];
  }

  std::string compare() {
    for (int r = 0; r < contract_.size; ++r)
      for (std::int32_t block = 0; block < programs_[at(r)].blocks; ++block) {
        const auto content = contract_.after(r, block);
        const std::uint64_t offset = rank(r).offsets[at(block)];
        for (std::uint64_t i = 0; i < rank(r).geometry.block_count(block); ++i) {
          const Number want =
              content ? expected(r, block, *content, i) : rank(r).before_output[offset + i];
          if (rank(r).output[offset + i] != want)
            return fmt::format("rank {} block {} element {} is {}, seed {}", r, block, i,
                               content ? "wrong" : "touched", how_.seed);
        }
        if (!how_.in_place && rank(r).input != rank(r).before_input)
          return fmt::format("rank {}: the input has changed, seed {}", r, how_.seed);
      }
    return {};
  }

  const std::vector<Program>& programs_;
  const Contract& contract_;
  Execution how_;
  std::mt19937_64 random_;
  std::deque<Rank> ranks_;  // stays put: geometries point into it
  std::optional<Flow> flow_;
  std::vector<std::deque<Numbers>> edges_;
  std::vector<std::vector<Numbers>> scratch_;
};

}  // namespace

std::string interpret(const std::vector<Program>& programs, const Contract& contract,
                      const Execution& how) {
  const auto wiring = wire(programs);
  if (!wiring) return wiring.error().text;
  return Interpreter(programs, contract, *wiring, how).run();
}

}  // namespace gyre
