#include "exec/runner.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace gyre {

namespace {

bool is_peer(Place place) { return place == Place::peer_input || place == Place::peer_output; }

}  // namespace

Runner::Runner(const Program& program, std::vector<Edge*> edges, std::size_t chunk_bytes)
    : program_(program), edges_(std::move(edges)), chunk_bytes_(chunk_bytes) {
  GYRE_CHECK(edges_.size() == program.edges.size());
  for (const Ref& ref : program.refs) {
    const bool on_edge = ref.place == Place::fifo || ref.place == Place::token;
    operands_.push_back({ref.place, ref.block, ref.edge, on_edge ? edges_[ref.edge] : nullptr});
  }
  std::size_t operands_max = 0;
  int peer_sources_max = 0;
  for (const Move& move : program.moves) {
    const bool has_data = move.sources + move.targets > 0;
    extents_.push_back(has_data ? extent_block(program, move) : 0);
    operands_max = std::max<std::size_t>(operands_max, move.sources + move.targets);
    int peers = 0;
    for (int i = 0; i < move.sources; ++i) {
      peers += is_peer(program.refs[move.ref + move.waits + static_cast<unsigned>(i)].place);
    }
    peer_sources_max = std::max(peer_sources_max, peers);
  }
  for (const Lane& lane : program.lanes) lanes_.push_back({&lane, 0, 0, 0, 0, true});
  targets_.resize(operands_max);
  sources_.resize(operands_max);
  scales_.resize(operands_max);
  bounce_count_ = peer_sources_max;
  for (Edge* edge : edges_) {
    if (edge->link->bell()) continue;
    if (std::find(posted_links_.begin(), posted_links_.end(), edge->link) == posted_links_.end())
      posted_links_.push_back(edge->link);
  }
}

void Runner::start(const Work& work) {
  work_ = work;
  elem_bytes_ = size_of(work.type);
  kernel_ = find_kernel(work.type, work.op);
  failure_.reset();
  lanes_left_ = lanes_.size();
  for (LaneState& state : lanes_) {
    const Lane& lane = *state.lane;
    std::uint64_t loops = work.geometry.loops;
    if (lane.own_loops) {
      const std::uint32_t first = lane.first + lane.prologue;
      loops = work.geometry.loops_for(work.geometry.block_count(extents_[first]));
    }
    loops = std::max(loops, work.loops_min);
    state = {&lane, 0, loops, 0, 0, false};
    if (lane.prologue == 0 && loops == 0) state.move = lane.prologue + lane.body;
    if (state.move == lane.prologue + lane.body + lane.epilogue ||
        (lane.prologue + lane.epilogue == 0 && loops == 0)) {
      state.done = true;
      --lanes_left_;
    }
  }
}

Turn Runner::turn() {
  bool moved = false;
  // Several lanes take a move each in turn: none runs slots ahead and out of the cache.
  const bool alone = lanes_.size() == 1;
  for (LaneState& state : lanes_) {
    while (!state.done && turn_lane(state)) {
      moved = true;
      if (!alone || (failure_ && !work_.tolerant)) break;
    }
    if (failure_ && !work_.tolerant) return Turn::failed;
  }
  if (lanes_left_ > 0) return moved ? Turn::moved : Turn::stuck;
  for (Link* link : posted_links_)
    if (!link->flushed()) return moved ? Turn::moved : Turn::stuck;
  return failure_ ? Turn::failed : Turn::done;
}

bool Runner::turn_lane(LaneState& state) {
  const Move& move = program_.moves[state.lane->first + state.move];
  const Operand* operands = &operands_[move.ref];
  if (!ready(move, operands)) return false;
  if (!run_move(state, move, operands)) return false;
  step(state);
  return true;
}

bool Runner::ready(const Move& move, const Operand* operands) const {
  const int count = move.waits + move.sources + move.targets + move.posts;
  for (int i = 0; i < count; ++i)
    if (operands[i].edge && !operands[i].edge->ready()) return false;
  return true;
}

std::int32_t Runner::block_of(const Move& move, const Operand& operand, std::uint32_t turn) const {
  if (turn == 0 && operand.block >= 0) return operand.block;
  const std::int64_t modulus =
      operand.place == Place::scratch ? program_.scratch_blocks : program_.blocks;
  const std::int64_t at = operand.block + static_cast<std::int64_t>(move.block_step) * turn;
  return static_cast<std::int32_t>(((at % modulus) + modulus) % modulus);
}

// Everything is ready: combine, then free what was read, then announce what was written.
bool Runner::run_move(const LaneState& state, const Move& move, const Operand* operands) {
  const Operand* sources = operands + move.waits;
  const Operand* targets = sources + move.sources;
  const Operand* posts = targets + move.targets;
  bool sound = true;
  for (int i = 0; i < move.waits; ++i) sound = check_signature(*operands[i].edge) && sound;
  for (int i = 0; i < move.sources; ++i)
    if (sources[i].edge) sound = check_signature(*sources[i].edge) && sound;
  if (!sound && !work_.tolerant) return false;

  Extent extent;
  if (move.targets > 0) {
    Operand first{Place::input, extents_[static_cast<std::size_t>(&move - program_.moves.data())],
                  0, nullptr};
    const std::int32_t block = block_of(move, first, state.turn);
    extent = work_.geometry.extent(block, state.loop, state.lane->part);
    // Uneven calls have no count in their signature: there the tables may still disagree.
    for (int i = 0; i < move.sources && sound; ++i)
      if (sources[i].edge) sound = check_bytes(*sources[i].edge, extent.count * elem_bytes_);
    if (!sound && !work_.tolerant) return false;
    if (extent.count > 0 && sound) {
      const int lent = borrow(sources, move.sources + move.targets);
      if (!failure_ || work_.tolerant) combine_chunk(state, move, operands, extent);
      give_back(sources, lent);
      if (failure_ && !work_.tolerant) return false;
    }
  }
  for (int i = 0; i < move.waits; ++i) operands[i].edge->release();
  for (int i = 0; i < move.sources; ++i)
    if (sources[i].edge) sources[i].edge->release();
  for (int i = 0; i < move.targets; ++i)
    if (targets[i].edge) targets[i].edge->commit(work_.call, extent.count * elem_bytes_);
  for (int i = 0; i < move.posts; ++i) posts[i].edge->commit(work_.call, 0);
  return true;
}

// Borrows what lies in peers' buffers. Gives: how many operands were passed, the refused one, which
// fails the call, not among them.
int Runner::borrow(const Operand* operands, int count) {
  for (int i = 0; i < count; ++i) {
    if (!is_peer(operands[i].place)) continue;
    Link& link = *work_.windows[operands[i].rank].link;
    if (link.borrow()) continue;
    fail(error(Code::remote, "rank {} has taken its buffers back", link.peer()).blame(link.peer()));
    return i;
  }
  return count;
}

void Runner::give_back(const Operand* operands, int count) {
  for (int i = 0; i < count; ++i)
    if (is_peer(operands[i].place)) work_.windows[operands[i].rank].link->give_back();
}

// A move that pulls from peers goes piece by piece, each as large as a bounce buffer: the chunk of
// such a plan is as long as its tokens are rare.
void Runner::combine_chunk(const LaneState& state, const Move& move, const Operand* operands,
                           Extent extent) {
  const Operand* sources = operands + move.waits;
  int pulls = 0;
  for (int i = 0; i < move.sources; ++i) pulls += is_peer(sources[i].place) && !mapped(sources[i]);
  // A lone pull lands where it is wanted, without a bounce.
  if (pulls == 1 && move.sources == 1 && move.targets == 1) {
    pull(state, move, sources[0], extent,
         target_pointer(state, move, sources[1], state.turn, extent));
    return;
  }
  const std::uint64_t piece = pulls == 0 ? extent.count : chunk_bytes_ / elem_bytes_;
  for (Extent part{extent.offset, 0}; part.offset < extent.offset + extent.count && !failure_;
       part.offset += part.count) {
    part.count = std::min(piece, extent.offset + extent.count - part.offset);
    combine_piece(state, move, operands, part);
  }
}

void Runner::combine_piece(const LaneState& state, const Move& move, const Operand* operands,
                           Extent extent) {
  const Operand* sources = operands + move.waits;
  const Operand* targets = sources + move.sources;
  bool scaled = false;
  for (int i = 0; i < move.sources; ++i) {
    sources_[static_cast<std::size_t>(i)] = source_pointer(state, move, sources[i], extent, i);
    const bool scale = work_.scale && sources[i].place == Place::input;
    scales_[static_cast<std::size_t>(i)] = scale ? work_.scale : nullptr;
    scaled |= scale;
  }
  for (int i = 0; i < move.targets; ++i)
    targets_[static_cast<std::size_t>(i)] =
        target_pointer(state, move, targets[i], state.turn, extent);
  if (failure_) return;
  bool to_slot = false;  // the peer reads it at once: it belongs in the cache
  for (int i = 0; i < move.targets; ++i) to_slot |= targets[i].place == Place::fifo;
  const bool final = (move.flags & kFinal) != 0 && work_.op == Op::avg;  // sums need no last touch
  if (move.sources == 1 && move.targets == 1 && !scaled && !final && sources_[0] == targets_[0])
    return;
  kernel_({.targets = targets_.data(),
           .target_count = move.targets,
           .sources = sources_.data(),
           .source_count = move.sources,
           .count = extent.count,
           .type = work_.type,
           .op = work_.op,
           .final = final,
           .avg_size = work_.ranks,
           .scales = scaled ? scales_.data() : nullptr,
           .streaming = work_.streaming && !to_slot});
}

// Bytes from a buffer's virtual base to this chunk.
std::uint64_t Runner::local_offset(const std::uint64_t* offsets, std::int32_t block,
                                   Extent extent) const {
  const std::uint64_t first =
      offsets ? offsets[block] : static_cast<std::uint64_t>(block) * work_.geometry.block_elems;
  return (first + extent.offset) * elem_bytes_;
}

std::byte* Runner::target_pointer(const LaneState& state, const Move& move, const Operand& operand,
                                  std::uint32_t turn, Extent extent) {
  const std::size_t bytes = extent.count * elem_bytes_;
  if (operand.place == Place::fifo) return operand.edge->writer.payload(bytes);
  const std::int32_t block = block_of(move, operand, turn);
  switch (operand.place) {
    case Place::scratch:
      return scratch(state, block);
    case Place::output:
      return reinterpret_cast<std::byte*>(work_.output +
                                          local_offset(work_.output_offsets, block, extent));
    case Place::peer_output:
      return work_.windows[operand.rank].output + local_offset(work_.output_offsets, block, extent);
    default:
      break;
  }
  check_failed("a move's target can be written", __FILE__, __LINE__);
}

const std::byte* Runner::source_pointer(const LaneState& state, const Move& move,
                                        const Operand& operand, Extent extent, int position) {
  const std::size_t bytes = extent.count * elem_bytes_;
  if (operand.place == Place::fifo) return operand.edge->reader.payload(bytes);
  const std::int32_t block = block_of(move, operand, state.turn);
  switch (operand.place) {
    case Place::scratch:
      return scratch(state, block);
    case Place::input:
      return reinterpret_cast<const std::byte*>(work_.input +
                                                local_offset(work_.input_offsets, block, extent));
    case Place::output:
      return reinterpret_cast<const std::byte*>(work_.output +
                                                local_offset(work_.output_offsets, block, extent));
    default:
      break;
  }
  if (const std::byte* base = mapped(operand)) {
    const bool is_input = operand.place == Place::peer_input;
    return base +
           local_offset(is_input ? work_.input_offsets : work_.output_offsets, block, extent);
  }
  const auto slots = static_cast<std::size_t>(bounce_count_ + 1);
  if (!bounce_) bounce_.reset(new std::byte[slots * chunk_bytes_]);
  std::byte* into = bounce_.get() + static_cast<std::size_t>(position) % slots * chunk_bytes_;
  pull(state, move, operand, extent, into);
  return into;
}

const std::byte* Runner::mapped(const Operand& peer) const {
  const PeerWindow& window = work_.windows[peer.rank];
  return peer.place == Place::peer_input ? window.input : window.output;
}

void Runner::pull(const LaneState& state, const Move& move, const Operand& operand, Extent extent,
                  std::byte* into) {
  const PeerWindow& window = work_.windows[operand.rank];
  const bool is_input = operand.place == Place::peer_input;
  const std::uint64_t offset = local_offset(is_input ? work_.input_offsets : work_.output_offsets,
                                            block_of(move, operand, state.turn), extent);
  Status status =
      window.link->pull(into, (is_input ? window.remote_input : window.remote_output) + offset,
                        extent.count * elem_bytes_);
  if (!status) fail(status.take_error());
}

std::byte* Runner::scratch(const LaneState& state, std::int32_t block) {
  if (!scratch_)
    scratch_.reset(new std::byte[lanes_.size() * static_cast<std::size_t>(program_.scratch_blocks) *
                                 chunk_bytes_]);
  const auto lane = static_cast<std::size_t>(&state - lanes_.data());
  return scratch_.get() + (lane * static_cast<std::size_t>(program_.scratch_blocks) +
                           static_cast<std::size_t>(block)) *
                              chunk_bytes_;
}

// To the next turn, move, loop or section; marks the lane done at its end.
void Runner::step(LaneState& state) {
  const Lane& lane = *state.lane;
  const Move& move = program_.moves[lane.first + state.move];
  if (++state.turn < move.repeat) return;
  state.turn = 0;
  ++state.move;
  if (state.move == lane.prologue && state.loops == 0) state.move += lane.body;
  if (state.move == lane.prologue + lane.body && state.loop + 1 < state.loops) {
    ++state.loop;
    state.move = lane.prologue;
  }
  if (state.move == lane.prologue + lane.body + lane.epilogue) {
    state.done = true;
    --lanes_left_;
  }
}

// Out of the way of the check, which every message pays for.
[[gnu::cold, gnu::noinline]] void Runner::calls_differ(const Edge& edge) {
  const int peer = edge.link->peer();
  fail(error(Code::invalid_usage, "calls differ: rank {} called {}, rank {} called {}", work_.rank,
             to_text(work_.call), peer, to_text(edge.reader.header().call))
           .blame(peer));
}

[[gnu::cold, gnu::noinline]] void Runner::counts_differ(const Edge& edge, std::size_t bytes) {
  const int peer = edge.link->peer();
  fail(error(Code::invalid_usage,
             "counts differ: rank {} sent {} B where rank {} expects {} B in {}", peer,
             edge.reader.header().bytes, work_.rank, bytes, to_text(work_.call))
           .blame(peer));
}

bool Runner::check_signature(const Edge& edge) {
  if (edge.reader.header().call == work_.call) [[likely]]
    return true;
  calls_differ(edge);
  return false;
}

bool Runner::check_bytes(const Edge& edge, std::size_t bytes) {
  if (edge.reader.header().bytes == bytes) [[likely]]
    return true;
  counts_differ(edge, bytes);
  return false;
}

void Runner::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
}

std::vector<Edge*> Runner::blocked() {
  std::vector<Edge*> out;
  for (const LaneState& state : lanes_) {
    if (state.done) continue;
    const Move& move = program_.moves[state.lane->first + state.move];
    const int count = move.waits + move.sources + move.targets + move.posts;
    for (int i = 0; i < count; ++i) {
      Edge* edge = operands_[move.ref + static_cast<unsigned>(i)].edge;
      if (edge && !edge->ready()) out.push_back(edge);
    }
  }
  return out;
}

}  // namespace gyre
