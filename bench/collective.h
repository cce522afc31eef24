// What one benchmark program measures, as data: sizes of buffers, the public call, and what each
// part of the result must be. Knows nothing about time, ranks' places or output.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bench/bandwidth.h"
#include "bench/types.h"
#include "gyre/gyre.h"

namespace perf {

struct Shape {
  int ranks = 1;
  int rank = 0;
  int root = 0;
  std::size_t count = 0;  // the call's own count
};

struct Call {
  const void* send;
  void* recv;
  Shape shape;
  TypeInfo type;
  gyreRedOp_t op;
  gyreComm_t comm;
  gyreStream_t stream;
};

// recv[at, at+count) must be elements [from, ...) of `source`'s send, or of the reduction.
struct Segment {
  static constexpr int kReduction = -1;
  std::size_t at;
  std::size_t count;
  int source;
  std::size_t from;
};

enum class InPlace {
  none,
  same,          // recv == send
  send_in_recv,  // send == recv + rank * count
  recv_in_send,  // recv == send + rank * count
};

// Blocks of `count` elements: one, one per rank, or (uneven ones) up to two per rank.
enum class Blocks { one, per_rank, two_per_rank };
std::size_t block_count(Blocks blocks, int ranks);

struct Collective {
  const char* name = "";
  BusRule rule = BusRule::whole;
  Blocks sent = Blocks::one;
  Blocks received = Blocks::one;
  InPlace in_place = InPlace::none;
  bool divides = false;  // "size" is the sum of one block per rank
  bool reduces = false;
  bool rooted = false;
  bool identical = false;  // every rank's result is the same
  std::function<gyreResult_t(const Call&)> run{};
  std::function<std::vector<Segment>(const Shape&)> segments{};
  // Elements that algbw counts when that is not "size".
  std::function<std::size_t(const Shape&)> moved{};
  // Why it cannot run with so many ranks; empty when it can.
  std::function<std::string(int ranks)> refuses{};

  // Elements of a call for a wanted size: at least one, so that small sizes are measured too.
  std::size_t count_of(std::size_t bytes, std::size_t element_bytes, int ranks) const;
  // What the size column says for a call.
  std::size_t size_of(std::size_t count, std::size_t element_bytes, int ranks) const;
};

// Segments that several collectives share.
std::vector<Segment> whole_from(const Shape& shape, int source);
std::vector<Segment> block_from_each(const Shape& shape);

}  // namespace perf
