// The CPU executor: runs one Program. Knows moves, edges and pointers. Does not wait, sleep or look
// at clocks: turn() goes as far as slots and credits allow and says whether anything moved, so that
// one thread can run many.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "collectives/plan.h"
#include "exec/combine.h"
#include "exec/edge.h"
#include "exec/work.h"

namespace gyre {

enum class Turn { stuck, moved, done, failed };

class Runner {
 public:
  // `edges[i]` is program.edges[i]; both outlive the runner. chunk_bytes: most that a slot takes.
  Runner(const Program& program, std::vector<Edge*> edges, std::size_t chunk_bytes);

  // Begins a call. The Work is copied; what it points to stays valid until done.
  void start(const Work& work);
  // Runs every lane as far as it goes. After done or failed only start() is allowed.
  Turn turn();
  // The first failure of the current Work. A mismatch of a tolerant Work fails at the end of it.
  const std::optional<Error>& failure() const { return failure_; }
  // Edges that unfinished lanes wait for now, for reports and liveness checks.
  std::vector<Edge*> blocked();
  // Distinct links of this program that need turning.
  const std::vector<Link*>& posted_links() const { return posted_links_; }
  const std::vector<Edge*>& edges() const { return edges_; }

 private:
  // A ref with its edge looked up; `rank` for peer_* places.
  struct Operand {
    Place place;
    std::int32_t block;
    std::uint16_t rank;
    Edge* edge;
  };
  struct LaneState {
    const Lane* lane;
    std::uint64_t loop, loops;
    std::uint32_t move;  // within the lane
    std::uint32_t turn;
    bool done;
  };

  bool turn_lane(LaneState& state);
  bool ready(const Move& move, const Operand* operands) const;
  bool run_move(const LaneState& state, const Move& move, const Operand* operands);
  void combine_chunk(const LaneState& state, const Move& move, const Operand* operands,
                     Extent extent);
  int borrow(const Operand* operands, int count);
  void give_back(const Operand* operands, int count);
  // Virtual base of a peer's buffer, or null where it must be pulled.
  const std::byte* mapped(const Operand& peer) const;
  void combine_piece(const LaneState& state, const Move& move, const Operand* operands,
                     Extent extent);
  void pull(const LaneState& state, const Move& move, const Operand& operand, Extent extent,
            std::byte* into);
  std::byte* target_pointer(const LaneState& state, const Move& move, const Operand& operand,
                            std::uint32_t turn, Extent extent);
  const std::byte* source_pointer(const LaneState& state, const Move& move, const Operand& operand,
                                  Extent extent, int position);
  std::uint64_t local_offset(const std::uint64_t* offsets, std::int32_t block, Extent extent) const;
  std::int32_t block_of(const Move& move, const Operand& operand, std::uint32_t turn) const;
  void step(LaneState& state);
  bool check_signature(const Edge& edge);
  void calls_differ(const Edge& edge);
  void counts_differ(const Edge& edge, std::size_t bytes);
  bool check_bytes(const Edge& edge, std::size_t bytes);
  void fail(Error error);
  std::byte* scratch(const LaneState& state, std::int32_t block);

  const Program& program_;
  std::vector<Edge*> edges_;
  std::vector<Link*> posted_links_;
  std::vector<Operand> operands_;      // parallel to program.refs
  std::vector<std::int32_t> extents_;  // extent_block of each move
  std::vector<LaneState> lanes_;
  std::size_t chunk_bytes_;
  Work work_;
  Kernel kernel_ = nullptr;
  std::size_t elem_bytes_ = 1;
  std::size_t lanes_left_ = 0;
  std::optional<Error> failure_;
  std::vector<void*> targets_;
  std::vector<const void*> sources_;
  std::vector<const void*> scales_;
  std::unique_ptr<std::byte[]> scratch_;  // per lane, scratch_blocks chunks; made on first need
  std::unique_ptr<std::byte[]> bounce_;   // chunks pulled from peers
  int bounce_count_ = 0;
};

}  // namespace gyre
