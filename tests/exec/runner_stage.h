// A stage for one Runner: hand-made programs over FIFOs in memory, the other end of each in the
// test's hands. Knows how to spell programs briefly. Does not know any algorithm.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <initializer_list>
#include <memory>
#include <vector>

#include "exec/runner.h"
#include "transport/pages.h"

namespace gyre {

// A peer that is nowhere: its FIFOs lie in this process. Pulls copy, `broken` makes them fail.
class StageLink final : public Link {
 public:
  StageLink(int peer, bool mapped) : Link(peer), mapped_(mapped) {}
  const char* name() const override { return "stage"; }
  Result<FifoReader> incoming(const EdgeKey&, const FifoShape&) override { return FifoReader(); }
  Result<std::optional<FifoWriter>> outgoing(const EdgeKey&, const FifoShape&) override {
    return std::optional<FifoWriter>();
  }
  Status pull(void* target, std::uint64_t source, std::size_t bytes) override {
    EXPECT_EQ(lent, 1) << "used without having been borrowed";
    if (broken) return error(Code::remote, "rank {} cannot be read", peer()).blame(peer());
    pulls.push_back(bytes);
    std::memcpy(target, reinterpret_cast<const void*>(source), bytes);
    return {};
  }
  bool borrow() override {
    if (recalled) return false;
    ++lent;
    return true;
  }
  void give_back() override { --lent; }
  bool flushed() const override { return clear; }
  Result<PeerNews> check() override { return PeerNews{}; }
  void leave(const Farewell&) override {}
  Bell* bell() override { return mapped_ ? &bell_ : nullptr; }

  bool broken = false;
  bool recalled = false;
  int lent = 0;
  bool clear = true;
  std::vector<std::size_t> pulls;

 private:
  bool mapped_;
  Bell bell_{};
};

// The lists of one move.
struct Operands {
  std::vector<Ref> waits, sources, targets, posts;
  std::uint16_t repeat = 1;
  std::int32_t block_step = 0;
  std::uint16_t flags = 0;
};

inline Ref buffer(Place place, std::int32_t block = 0) { return {place, 0, 0, block}; }
inline Ref slot(std::uint16_t edge, std::int32_t block = 0) {
  return {Place::fifo, 0, edge, block};
}
inline Ref token(std::uint16_t edge) { return {Place::token, 0, edge, 0}; }
inline Ref window(Place place, std::uint16_t rank, std::int32_t block = 0) {
  return {place, 0, rank, block};
}

inline void add_move(Program& program, const Operands& what) {
  Move move{.ref = static_cast<std::uint32_t>(program.refs.size()),
            .waits = static_cast<std::uint8_t>(what.waits.size()),
            .sources = static_cast<std::uint8_t>(what.sources.size()),
            .targets = static_cast<std::uint8_t>(what.targets.size()),
            .posts = static_cast<std::uint8_t>(what.posts.size()),
            .repeat = what.repeat,
            .flags = what.flags,
            .block_step = what.block_step};
  for (const auto* list : {&what.waits, &what.sources, &what.targets, &what.posts})
    program.refs.insert(program.refs.end(), list->begin(), list->end());
  program.moves.push_back(move);
}

struct LaneParts {
  std::vector<Operands> prologue, body, epilogue;
  std::uint16_t part = 0;
  bool own_loops = false;
};

inline void add_lane(Program& program, const LaneParts& parts) {
  program.lanes.push_back({.first = static_cast<std::uint32_t>(program.moves.size()),
                           .prologue = static_cast<std::uint32_t>(parts.prologue.size()),
                           .body = static_cast<std::uint32_t>(parts.body.size()),
                           .epilogue = static_cast<std::uint32_t>(parts.epilogue.size()),
                           .part = parts.part,
                           .own_loops = parts.own_loops});
  for (const auto* section : {&parts.prologue, &parts.body, &parts.epilogue})
    for (const Operands& move : *section) add_move(program, move);
}

inline constexpr std::size_t kStageChunk = 64;  // bytes of a slot: 16 floats

// Owns the program, its edges and the other end of each.
struct Stage {
  explicit Stage(Program made, std::uint32_t slots = 4, bool mapped = true)
      : program(std::move(made)) {
    for (const EdgeSpec& spec : program.edges) {
      StageLink* link = nullptr;
      for (StageLink& known : links)
        if (known.peer() == spec.peer) link = &known;
      if (!link) link = &links.emplace_back(spec.peer, mapped);
      const FifoShape shape{slots, spec.token ? 0 : static_cast<std::uint32_t>(kStageChunk)};
      Pipe& pipe = pipes.emplace_back(shape);
      Edge& edge = edges.emplace_back(Edge{link, {}, spec.outgoing, link->bell(), {}, {}});
      if (spec.outgoing)
        edge.writer = pipe.writer;
      else
        edge.reader = pipe.reader;
    }
    std::vector<Edge*> pointers;
    for (Edge& edge : edges) pointers.push_back(&edge);
    runner = std::make_unique<Runner>(program, pointers, kStageChunk);
  }

  // The far end of edge i.
  FifoWriter& feed(std::size_t i) { return pipes[i].writer; }
  FifoReader& drain(std::size_t i) { return pipes[i].reader; }

  template <class T>
  void send(std::size_t edge, const CallSignature& call, const std::vector<T>& values) {
    ASSERT_TRUE(feed(edge).can_send());
    const std::size_t bytes = values.size() * sizeof(T);
    if (bytes > 0) std::memcpy(feed(edge).payload(bytes), values.data(), bytes);
    feed(edge).commit(call, bytes);
  }
  // The next message, which must be there.
  template <class T>
  std::vector<T> receive(std::size_t edge) {
    FifoReader& from = drain(edge);
    EXPECT_TRUE(from.ready()) << "nothing on edge " << edge;
    if (!from.ready()) return {};
    std::vector<T> out(from.header().bytes / sizeof(T));
    if (!out.empty())
      std::memcpy(out.data(), from.payload(from.header().bytes), from.header().bytes);
    from.release();
    return out;
  }

  Program program;
  std::deque<StageLink> links;
  std::deque<Pipe> pipes;
  std::deque<Edge> edges;
  std::unique_ptr<Runner> runner;
};

// A Work over whole buffers of `count` elements in equal blocks.
template <class T>
Work work_on(const Program& program, Type type, Op op, const std::vector<T>& input,
             std::vector<T>& output, std::uint64_t sequence = 1) {
  Work work;
  const std::uint64_t count = input.size();
  work.call = make_signature(Collective::all_reduce, type, op, 0, sequence, count);
  work.type = type;
  work.op = op;
  work.ranks = 2;
  work.input = reinterpret_cast<std::uintptr_t>(input.data());
  work.output = reinterpret_cast<std::uintptr_t>(output.data());
  work.geometry.total_elems = count;
  work.geometry.block_elems = (count + static_cast<std::uint64_t>(program.blocks) - 1) /
                              static_cast<std::uint64_t>(program.blocks);
  work.geometry.chunk_elems = kStageChunk / sizeof(T);
  work.geometry.parts = program.parts;
  work.geometry.loops = work.geometry.loops_for(work.geometry.block_elems);
  return work;
}

inline std::vector<float> counting(std::size_t count, float first = 0) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = first + static_cast<float>(i);
  return out;
}

}  // namespace gyre
