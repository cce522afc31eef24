#include "collectives/prove.h"

#include <deque>
#include <map>
#include <memory>

#include "collectives/flow.h"
#include "collectives/memory.h"
#include "collectives/values.h"

namespace gyre {
namespace {

using Clock = std::vector<std::uint32_t>;  // per lane: its turns known to have happened before

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// Lanes with own_loops differ from block to block, and some have nothing to do; but in a case of
// one loop every block has it, so that none is left out of the proof.
std::uint64_t own_loops(std::int32_t extent_key, int loops) {
  return static_cast<std::uint64_t>(loops == 1 ? 1 : (extent_key + 1) % (loops + 1));
}

class Proof {
 public:
  Proof(std::span<const Program> programs, const Contract& contract, const Wiring& wiring,
        const ProofCase& how)
      : programs_(programs),
        contract_(contract),
        how_(how),
        wiring_(wiring),
        flow_(programs, wiring, how.slots,
              [this](int rank, const Lane& lane) { return loops_of(rank, lane); }),
        memory_(contract, programs, how.loops, how.in_place),
        values_(contract.size),
        edges_(wiring.channels.size()),
        scratch_(wiring.lanes.size()) {
    ordered_ = contract.collective == Collective::barrier ||
               order_matters(contract, programs, wiring, how.in_place);
    if (ordered_) {
      clocks_.assign(wiring.lanes.size(), Clock(wiring.lanes.size(), 0));
      visits_.assign(wiring.lanes.size(), {});
    }
    for (int lane = 0; lane < flow_.lanes(); ++lane)
      scratch_[at(lane)].assign(at(flow_.program(lane).scratch_blocks), Held{});
  }

  Verdict run() {
    fill_inputs();
    flow_.run([&](int lane) { return turn(lane); });
    if (fault_.empty()) fault_ = flow_.deadlock();
    if (fault_.empty()) fault_ = flow_.leftover();
    if (fault_.empty()) check_results();
    if (fault_.empty() && ordered_) check_departures();
    return {fault_, flow_.turns(), roundings_, additions_, rank_order_};
  }

 private:
  struct Held {
    int value = -1;
    std::int32_t extent = 0;
  };
  struct Message {
    Held held;
    std::shared_ptr<const Clock> clock;
  };

  std::uint64_t loops_of(int rank, const Lane& lane) const;
  void fill_inputs();
  bool turn(int lane);
  bool take(int lane, const Ref& ref, std::int32_t extent, int& value);
  bool give(int lane, const Ref& ref, const Held& held, const std::shared_ptr<const Clock>& clock);
  bool touch(int lane, const Ref& ref, bool write, Cell*& cell);
  bool ordered(int lane, const Moment& before) const {
    return before.lane < 0 || before.lane == lane ||
           clocks_[at(lane)][at(before.lane)] >= before.turn;
  }
  std::int32_t extent_of(int lane, const Ref& ref) const;
  bool copies_onto_itself(int lane, const Ref& target) const;
  void join(int lane, const Message& message);
  void check_results();
  void check_block(int rank, std::int32_t block, const Content& content,
                   std::map<Spot, std::uint64_t>& trees);
  void check_departures();
  bool fail(int lane, const std::string& what) {
    fault_ = fmt::format("{}: {}", flow_.where(lane), what);
    return false;
  }

  std::span<const Program> programs_;
  const Contract& contract_;
  ProofCase how_;
  const Wiring& wiring_;
  Flow flow_;
  Memory memory_;
  Values values_;
  std::vector<std::deque<Message>> edges_;
  std::vector<std::vector<Held>> scratch_;  // per lane
  bool ordered_ = false;
  std::vector<Clock> clocks_;                         // per lane, when ordered_
  std::vector<std::map<int, std::uint32_t>> visits_;  // per lane: peer -> turn of last touch
  std::string fault_;
  int roundings_ = 0, additions_ = 0;
  bool rank_order_ = true;
};

std::uint64_t Proof::loops_of(int rank, const Lane& lane) const {
  if (!lane.own_loops || lane.body == 0) return static_cast<std::uint64_t>(how_.loops);
  const Program& p = programs_[at(rank)];
  const std::int32_t block = extent_block(p, p.moves[lane.first + lane.prologue]);
  return own_loops(contract_.extent_key(rank, block), how_.loops);
}

void Proof::fill_inputs() {
  for (int rank = 0; rank < contract_.size; ++rank)
    for (std::int32_t block = 0; block < programs_[at(rank)].blocks; ++block) {
      const auto content = contract_.before(rank, block);
      if (!content) continue;
      for (int loop = 0; loop < how_.loops; ++loop)
        for (int part = 0; part < programs_[at(rank)].parts; ++part) {
          const Spot spot{content->piece, static_cast<std::uint64_t>(loop),
                          static_cast<std::uint16_t>(part)};
          memory_.at(rank, false, block, spot.loop, part).value = values_.leaf(spot, rank);
        }
    }
}

std::int32_t Proof::extent_of(int lane, const Ref& ref) const {
  const Cursor& c = flow_.cursor(lane);
  const std::int32_t block = block_at(flow_.program(lane), c.move(), ref, c.turn());
  return contract_.extent_key(owner_of(flow_.rank(lane), ref), block);
}

// In place, a copy between the two names of one chunk, which executors leave out.
bool Proof::copies_onto_itself(int lane, const Ref& target) const {
  const Program& p = flow_.program(lane);
  const Cursor& c = flow_.cursor(lane);
  const Ref& source = sources_of(p, c.move())[0];
  const int rank = flow_.rank(lane);
  const std::int32_t block = block_at(p, c.move(), target, c.turn());
  return how_.in_place && c.move().sources == 1 && c.move().targets == 1 &&
         !(c.move().flags & kFinal) && touches_memory(source) &&
         owner_of(rank, source) == owner_of(rank, target) &&
         block_at(p, c.move(), source, c.turn()) == block &&
         contract_.in_place_block(owner_of(rank, target), block);
}

void Proof::join(int lane, const Message& message) {
  if (!ordered_) return;
  Clock& mine = clocks_[at(lane)];
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = std::max(mine[i], (*message.clock)[i]);
}

// The chunk a data ref touches, after the order of accesses has been checked.
bool Proof::touch(int lane, const Ref& ref, bool write, Cell*& cell) {
  const int rank = flow_.rank(lane), owner = owner_of(rank, ref);
  const Cursor& c = flow_.cursor(lane);
  const std::int32_t block = block_at(flow_.program(lane), c.move(), ref, c.turn());
  const auto content =
      is_output(ref) ? contract_.after(owner, block) : contract_.before(owner, block);
  if (!content)
    return fail(lane, fmt::format("touches {} block {} of rank {}, which is not there",
                                  is_output(ref) ? "output" : "input", block, owner));
  if (write && !is_output(ref)) return fail(lane, "writes to an input");
  cell = &memory_.at(owner, is_output(ref), block, c.loop(), flow_.lane_of(lane).part);
  if (!ordered_) return true;
  if (is_peer(ref)) {
    bool arrived = false;
    for (int other = 0; other < flow_.lanes(); ++other)
      arrived |= flow_.rank(other) == owner && clocks_[at(lane)][at(other)] > 0;
    if (!arrived) return fail(lane, fmt::format("touches rank {} before he has come", owner));
    visits_[at(lane)][owner] = clocks_[at(lane)][at(lane)];
  }
  if (!ordered(lane, cell->wrote))
    return fail(lane,
                fmt::format("block {} of rank {} may be written at the same time", block, owner));
  if (write)
    for (const Moment& read : cell->reads)
      if (!ordered(lane, read))
        return fail(lane, fmt::format("overwrites block {} of rank {} that may still be read",
                                      block, owner));
  const Moment now{lane, clocks_[at(lane)][at(lane)]};
  if (write) {
    cell->wrote = now;
    cell->reads.clear();
  } else {
    std::erase_if(cell->reads, [&](const Moment& m) { return m.lane == lane; });
    cell->reads.push_back(now);
  }
  return true;
}

bool Proof::take(int lane, const Ref& ref, std::int32_t extent, int& value) {
  const Cursor& c = flow_.cursor(lane);
  Held held;
  if (ref.place == Place::fifo) {
    auto& edge = edges_[at(flow_.channel(lane, ref))];
    held = edge.front().held;
    join(lane, edge.front());
    edge.pop_front();
  } else if (ref.place == Place::scratch) {
    held = scratch_[at(lane)][at(block_at(flow_.program(lane), c.move(), ref, c.turn()))];
  } else {
    Cell* cell = nullptr;
    if (!touch(lane, ref, false, cell)) return false;
    held = {cell->value, extent_of(lane, ref)};
  }
  if (held.value < 0) return fail(lane, "reads what nobody has written");
  if (held.extent != extent) return fail(lane, "takes a chunk of another block's size");
  const Spot& spot = values_[held.value].spot;
  if (spot.loop != c.loop() || spot.part != flow_.lane_of(lane).part)
    return fail(lane, fmt::format("takes {}, which is another chunk", values_.to_text(held.value)));
  value = held.value;
  return true;
}

bool Proof::give(int lane, const Ref& ref, const Held& held,
                 const std::shared_ptr<const Clock>& clock) {
  const Cursor& c = flow_.cursor(lane);
  if (ref.place == Place::fifo) {
    edges_[at(flow_.channel(lane, ref))].push_back({held, clock});
  } else if (ref.place == Place::scratch) {
    scratch_[at(lane)][at(block_at(flow_.program(lane), c.move(), ref, c.turn()))] = held;
  } else {
    Cell* cell = nullptr;
    if (copies_onto_itself(lane, ref)) return true;
    if (!touch(lane, ref, true, cell)) return false;
    cell->value = held.value;
  }
  return ref.place == Place::scratch || extent_of(lane, ref) == held.extent ||
         fail(lane, "gives a chunk of another block's size");
}

// One turn of a lane that Flow has found ready.
bool Proof::turn(int lane) {
  const Program& p = flow_.program(lane);
  const Cursor& c = flow_.cursor(lane);
  const Move& move = c.move();
  if (ordered_) ++clocks_[at(lane)][at(lane)];
  for (const Ref& ref : waits_of(p, move)) {
    auto& edge = edges_[at(flow_.channel(lane, ref))];
    join(lane, edge.front());
    edge.pop_front();
  }
  std::int32_t extent = 0;
  if (move.sources > 0) {
    const Ref named{Place::fifo, 0, 0, extent_block(p, move)};
    extent = contract_.extent_key(flow_.rank(lane), block_at(p, move, named, c.turn()));
  }
  std::vector<int> sources;
  for (const Ref& ref : sources_of(p, move))
    if (!take(lane, ref, extent, sources.emplace_back())) return false;
  const auto clock = ordered_ ? std::make_shared<const Clock>(clocks_[at(lane)]) : nullptr;
  if (!sources.empty()) {
    std::string why;
    int value = values_.combine(sources, why);
    if (value < 0) return fail(lane, why);
    if (move.flags & kFinal) value = values_.finish(value);
    if (value < 0) return fail(lane, "finishes what is finished");
    for (const Ref& ref : targets_of(p, move))
      if (!give(lane, ref, {value, extent}, clock)) return false;
  }
  for (const Ref& ref : posts_of(p, move))
    edges_[at(flow_.channel(lane, ref))].push_back({{}, clock});
  return true;
}

void Proof::check_results() {
  std::map<Spot, std::uint64_t> trees;
  for (int rank = 0; rank < contract_.size; ++rank)
    for (std::int32_t block = 0; block < programs_[at(rank)].blocks; ++block) {
      const auto content = contract_.after(rank, block);
      if (content && fault_.empty()) check_block(rank, block, *content, trees);
    }
}

// Every chunk of one output block: there, right, and added as on all other ranks.
void Proof::check_block(int rank, std::int32_t block, const Content& content,
                        std::map<Spot, std::uint64_t>& trees) {
  const Program& p = programs_[at(rank)];
  const bool own = !p.lanes.empty() && p.lanes[0].own_loops;
  const std::uint64_t loops = own ? own_loops(contract_.extent_key(rank, block), how_.loops)
                                  : static_cast<std::uint64_t>(how_.loops);
  const auto name = fmt::format("output block {} of rank {}", block, rank);
  for (std::uint64_t loop = 0; loop < loops; ++loop)
    for (int part = 0; part < p.parts; ++part) {
      const int id = memory_.at(rank, true, block, loop, part).value;
      if (id < 0) {
        fault_ = name + " is not written";
        return;
      }
      const Value& value = values_[id];
      const Spot spot{content.piece, loop, static_cast<std::uint16_t>(part)};
      const bool everyone = content.contributor == Content::kEveryone;
      if (value.spot != spot ||
          !(everyone ? values_.has_everyone(id) : values_.has_only(id, content.contributor)))
        fault_ = fmt::format("{} holds {}", name, values_.to_text(id));
      else if (value.final != everyone)
        fault_ = name + (everyone ? " is not finished" : " is finished though nothing was reduced");
      else if (trees.try_emplace(spot, value.tree).first->second != value.tree)
        fault_ = name + " is added in another order than elsewhere";
      roundings_ = std::max(roundings_, value.roundings);
      additions_ = std::max(additions_, value.additions);
      if (everyone)
        rank_order_ = rank_order_ && value.tree == values_.rank_order_tree(content.piece);
    }
}

// Nobody leaves while his buffers may be touched; from a barrier nobody leaves before all have
// come.
void Proof::check_departures() {
  const bool barrier = contract_.collective == Collective::barrier;
  std::vector<Clock> leaving(at(contract_.size), Clock(wiring_.lanes.size(), 0));
  for (int lane = 0; lane < flow_.lanes(); ++lane) {
    Clock& last = leaving[at(flow_.rank(lane))];
    for (std::size_t i = 0; i < last.size(); ++i) last[i] = std::max(last[i], clocks_[at(lane)][i]);
  }
  for (int lane = 0; lane < flow_.lanes(); ++lane) {
    for (const auto& [host, turn] : visits_[at(lane)])
      if (leaving[at(host)][at(lane)] < turn)
        fault_ = fmt::format("rank {} may leave while rank {} still touches its buffers", host,
                             flow_.rank(lane));
    for (int rank = 0; barrier && rank < contract_.size; ++rank)
      if (leaving[at(rank)][at(lane)] == 0)
        fault_ = fmt::format("rank {} may leave before rank {} has come", rank, flow_.rank(lane));
  }
}

}  // namespace

Contract contract_of(const Shape& shape) {
  const bool point_to_point =
      shape.collective == Collective::send || shape.collective == Collective::recv;
  return {shape.collective, shape.size(), point_to_point ? shape.rank : shape.root};
}

Result<std::vector<Program>> build_all(const Shape& shape) {
  std::vector<Program> programs;
  for (int rank = 0; rank < shape.size(); ++rank) {
    Shape one = shape;
    one.rank = rank;
    if (shape.collective == Collective::send && rank != shape.rank) {
      one.collective = Collective::recv;
      one.root = shape.rank;
    }
    programs.push_back(GYRE_TRY(build_program(one)));
  }
  return programs;
}

Verdict prove(std::span<const Program> programs, const Contract& contract, const ProofCase& how) {
  const auto wiring = wire(programs);
  if (!wiring) return {.fault = wiring.error().text};
  return Proof(programs, contract, *wiring, how).run();
}

Verdict prove_all_cases(std::span<const Program> programs, const Contract& contract, int slots) {
  const auto wiring = wire(programs);
  if (!wiring) return {.fault = wiring.error().text};
  std::uint64_t turns = 0;
  Verdict verdict;
  for (const int loops : {1, 3})
    for (const bool in_place : {false, true}) {
      if (in_place && !contract.allows_in_place()) continue;
      verdict = Proof(programs, contract, *wiring, {slots, loops, in_place}).run();
      verdict.turns = turns += verdict.turns;
      if (verdict.proved()) continue;
      verdict.fault += fmt::format(" ({} ranks, {} slots, {} loops, {} place)", contract.size,
                                   slots, loops, in_place ? "in" : "out of");
      return verdict;
    }
  return verdict;
}

int least_slots(std::span<const Program> programs) {
  const auto wiring = wire(programs);
  if (!wiring) return 0;
  for (int slots = 1; slots <= 8; ++slots) {
    Flow flow(programs, *wiring, slots, [](int, const Lane&) { return 3; });
    flow.run([](int) { return true; });
    if (flow.finished()) return slots;
  }
  return 0;
}

}  // namespace gyre
