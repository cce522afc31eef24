// The plan: a collective as data. Knows moves, lanes, edges and blocks. Does not know bytes, links,
// threads or data types: (layout, collective, rank) -> Program, and a Work binds the rest.
//
// A Program is one rank's part: lanes that run side by side, each a sequence of Moves. A Move waits
// for tokens, takes one chunk from every source, combines them, gives the result to every target
// and posts tokens. Edges are bounded FIFOs with one writer and one reader, so the whole is a Kahn
// network: every schedule gives the same result, and one abstract run at k slots decides deadlock
// for k.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace gyre {

// Where an operand lives.
enum class Place : std::uint8_t {
  input,       // this rank's send buffer; premultiplied when the op asks for it
  output,      // this rank's receive buffer
  scratch,     // temporary blocks of one chunk each, private to the lane's loop
  fifo,        // the edge's current slot: a source on an incoming edge, a target on an outgoing one
  token,       // an edge without data: waited for or posted
  peer_input,  // a peer's send buffer through a window; only between the entry and exit tokens
  peer_output,  // a peer's receive buffer through a window; likewise
};

// One operand. `edge` indexes Program::edges for fifo and token, and is the peer's rank for peer_*.
// `block` is the logical block (its extent gives the element count); of scratch, the scratch block.
struct Ref {
  Place place;
  std::uint8_t unused = 0;
  std::uint16_t edge = 0;
  std::int32_t block = 0;
};
static_assert(sizeof(Ref) == 8);

// Set on the move that completes a reduction: the post-scale of avg happens here, exactly once.
inline constexpr std::uint16_t kFinal = 1;

// One step. refs[ref .. ref+waits+sources+targets+posts) are its operands in that order.
// One source: copy. More: reduce, in the order given (the order decides the bits). All operands of
// a move have the same count, the extent of its extent_block(). A target may be a source too, at
// the same place: in place is element by element, and a copy of a chunk onto itself touches
// nothing. Repeats `repeat` times; in turn j every ref's block has moved by block_step*j: data refs
// are taken mod Program::blocks, scratch refs mod scratch_blocks. Edges stay.
struct Move {
  std::uint32_t ref = 0;
  std::uint8_t waits = 0, sources = 0, targets = 0, posts = 0;
  std::uint16_t repeat = 1;
  std::uint16_t flags = 0;
  std::int32_t block_step = 0;
};
static_assert(sizeof(Move) == 16);

// One direction to one peer. Both ends name it alike: (source rank, target rank, index).
// Data and token edges are numbered apart, both from 0; the two indices below are the house's own.
inline constexpr std::uint16_t kAgreeEdge = 0xfffe;         // no plan uses it
inline constexpr std::uint16_t kPointToPointEdge = 0xffff;  // send and recv alone
struct EdgeSpec {
  std::int32_t peer = -1;
  std::uint16_t index = 0;
  bool outgoing = false;
  bool token = false;  // carries no data
  bool operator==(const EdgeSpec&) const = default;
};

// A sequential thread of moves over part `part` of Program::parts of every block: prologue once,
// body once per loop, epilogue once. Tokens that guard windows live in prologue and epilogue.
struct Lane {
  std::uint32_t first = 0;  // into Program::moves
  std::uint32_t prologue = 0, body = 0, epilogue = 0;
  std::uint16_t part = 0;
  // The lane's loop count comes from the extent of its own first data block, not from the largest
  // block: for point-to-point and all-to-all lanes, whose two ends know just that count.
  bool own_loops = false;
};

// What the blocks are: all_reduce, reduce, broadcast cut the buffer in `blocks` equal parts (1, n
// or what the algorithm likes); all_gather, reduce_scatter, all_to_all, gather, scatter have one
// block per rank, and a rank's own small buffer is block `rank`. all_to_all_v has 2n: block b < n
// goes to rank b (counts and offsets of the send side), block n + s comes from rank s (of the
// receive side).
struct Program {
  std::vector<Lane> lanes;
  std::vector<Move> moves;
  std::vector<Ref> refs;
  std::vector<EdgeSpec> edges;
  std::int32_t blocks = 1;          // logical blocks, the modulus of data refs
  std::int32_t scratch_blocks = 0;  // per lane, each one chunk
  std::uint16_t parts = 1;          // lanes with equal part share a data range
  std::uint16_t slots_min = 1;      // the prover's answer; connect refuses fewer
};

// The block of `ref` in turn `turn` of its move.
std::int32_t block_at(const Program& program, const Move& move, const Ref& ref, int turn);
// The block whose extent is the move's count in turn 0: of its first source or target outside
// scratch. Every move with data has one.
std::int32_t extent_block(const Program& program, const Move& move);

// Which ranks sit on which host; every rank appears once, hosts in order of their lowest rank.
struct Layout {
  int size = 1;
  std::vector<std::vector<int>> hosts;
  bool single_host() const { return hosts.size() <= 1; }
};
Layout single_host_layout(int size);

}  // namespace gyre
