#include "collectives/wiring.h"

#include <map>
#include <tuple>

namespace gyre {
namespace {

using Key = std::tuple<int, int, std::uint16_t, bool>;  // source, target, index, token

Key key_of(int rank, const EdgeSpec& spec) {
  return spec.outgoing ? Key{rank, spec.peer, spec.index, spec.token}
                       : Key{spec.peer, rank, spec.index, spec.token};
}

// Joins the two ends of every edge.
Status join_edges(std::span<const Program> programs, Wiring& wiring) {
  std::map<Key, int> known;
  std::vector<int> ends;
  const int size = static_cast<int>(programs.size());
  for (int rank = 0; rank < size; ++rank) {
    auto& channel_of = wiring.channel_of.emplace_back();
    for (const EdgeSpec& spec : programs[static_cast<std::size_t>(rank)].edges) {
      if (spec.peer < 0 || spec.peer >= size)
        return error(Code::internal, "rank {} has an edge to rank {} of {}", rank, spec.peer, size);
      const Key key = key_of(rank, spec);
      const auto [at, fresh] = known.try_emplace(key, static_cast<int>(wiring.channels.size()));
      if (fresh) {
        const auto& [source, target, index, token] = key;
        wiring.channels.push_back({source, target, index, token, -1, -1});
        ends.push_back(0);
      }
      ends[static_cast<std::size_t>(at->second)] += spec.outgoing ? 1 : 2;
      channel_of.push_back(at->second);
    }
  }
  for (std::size_t i = 0; i < ends.size(); ++i)
    if (ends[i] != 3)
      return error(Code::internal, "{} lacks its {} end", to_text(wiring.channels[i]),
                   ends[i] == 1 ? "reading" : "writing");
  return {};
}

struct Where {
  int rank, lane_id;
  std::uint32_t move;
  std::vector<std::int64_t>& last_use;  // per edge of the program: the move that named it last
};

// One end of the channel belongs to one lane, and to one operand of a move.
Status claim_end(Wiring& wiring, const Where& at, const Ref& ref, bool outgoing,
                 const Program& program) {
  if (ref.edge >= program.edges.size())
    return error(Code::internal, "rank {} move {} names edge {} of {}", at.rank, at.move, ref.edge,
                 program.edges.size());
  const EdgeSpec& spec = program.edges[ref.edge];
  const int id = wiring.channel_of[static_cast<std::size_t>(at.rank)][ref.edge];
  Channel& channel = wiring.channels[static_cast<std::size_t>(id)];
  if (spec.outgoing != outgoing || spec.token != (ref.place == Place::token))
    return error(Code::internal, "rank {} move {} uses {} the wrong way", at.rank, at.move,
                 to_text(channel));
  int& owner = outgoing ? channel.writer : channel.reader;
  if (owner != -1 && owner != at.lane_id)
    return error(Code::internal, "two lanes of rank {} share {}", at.rank, to_text(channel));
  owner = at.lane_id;
  if (at.last_use[ref.edge] == at.move)
    return error(Code::internal, "rank {} move {} names {} twice", at.rank, at.move,
                 to_text(channel));
  at.last_use[ref.edge] = at.move;
  return {};
}

Status check_move(Wiring& wiring, const Where& at, const Program& program, bool body) {
  const Move& move = program.moves[at.move];
  const std::size_t past =
      std::size_t{move.ref} + move.waits + move.sources + move.targets + move.posts;
  if (past > program.refs.size() || move.repeat == 0)
    return error(Code::internal, "rank {} move {} points outside", at.rank, at.move);
  if ((move.sources == 0) != (move.targets == 0))
    return error(Code::internal, "rank {} move {} has data that goes nowhere", at.rank, at.move);
  if (move.sources > 0 && !body)
    return error(Code::internal, "rank {} move {} moves data outside the body", at.rank, at.move);
  for (const Ref& ref : waits_of(program, move))
    GYRE_TRY(claim_end(wiring, at, ref, false, program));
  for (const Ref& ref : sources_of(program, move))
    if (ref.place == Place::fifo) GYRE_TRY(claim_end(wiring, at, ref, false, program));
  for (const Ref& ref : targets_of(program, move))
    if (ref.place == Place::fifo) GYRE_TRY(claim_end(wiring, at, ref, true, program));
  for (const Ref& ref : posts_of(program, move))
    GYRE_TRY(claim_end(wiring, at, ref, true, program));
  return {};
}

}  // namespace

std::string to_text(const Channel& channel) {
  std::string text =
      fmt::format("{} {} -> {}", channel.token ? "token" : "edge", channel.source, channel.target);
  if (channel.index != 0) text += fmt::format(" index {}", channel.index);
  return text;
}

Result<Wiring> wire(std::span<const Program> programs) {
  Wiring wiring;
  GYRE_TRY(join_edges(programs, wiring));
  for (int rank = 0; rank < static_cast<int>(programs.size()); ++rank) {
    const Program& program = programs[static_cast<std::size_t>(rank)];
    std::vector<std::int64_t> last_use(program.edges.size(), -1);
    for (int lane = 0; lane < static_cast<int>(program.lanes.size()); ++lane) {
      const int id = static_cast<int>(wiring.lanes.size());
      wiring.lanes.push_back({rank, lane});
      const Lane& l = program.lanes[static_cast<std::size_t>(lane)];
      const std::uint32_t past = l.first + l.prologue + l.body + l.epilogue;
      if (past > program.moves.size())
        return error(Code::internal, "rank {} lane {} runs past its moves", rank, lane);
      for (std::uint32_t m = l.first; m < past; ++m) {
        const bool body = m >= l.first + l.prologue && m < l.first + l.prologue + l.body;
        GYRE_TRY(check_move(wiring, {rank, id, m, last_use}, program, body));
      }
    }
  }
  return wiring;
}

Cursor::Cursor(const Program& program, const Lane& lane, std::uint64_t loops)
    : program_(&program),
      lengths_{lane.prologue, lane.body, lane.epilogue},
      first_(lane.first),
      loops_(loops) {
  skip_empty();
}

void Cursor::next() {
  if (++turn_ < move().repeat) return;
  turn_ = 0;
  ++index_;
  skip_empty();
}

// To the next section while this one is over; the body starts again until its loops are done.
void Cursor::skip_empty() {
  while (section_ < kSections && (index_ == lengths_[section_] || (section_ == 1 && loops_ == 0))) {
    if (section_ == 1 && lengths_[1] > 0 && loops_ > 0 && loop_ + 1 < loops_) {
      ++loop_;
      index_ = 0;
      return;
    }
    first_ += lengths_[section_++];
    index_ = 0;
  }
}

}  // namespace gyre
