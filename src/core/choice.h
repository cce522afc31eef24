// Choice: which algorithm and which kind of edge a call uses. Knows sizes, layout and what memory
// can be reached. All ranks must come to the same answer from what all ranks know.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "collectives/catalog.h"
#include "collectives/tuner.h"
#include "core/request.h"
#include "transport/link.h"

namespace gyre {

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  EdgeKind kind = EdgeKind::bulk;
};

// How buffers of a large call on one host can be reached; the same on all ranks after agreement.
struct Reach {
  bool mapped = false;  // every rank's buffers lie in memory that all can map
  bool pull = false;    // every rank can copy from every other by a system call
};

class Chooser {
 public:
  Chooser(const Layout& layout, bool deterministic);
  // True when the call is one exchange of small messages over small edges.
  bool is_small(const Request& request) const;
  // True when a large call agrees on memory first (one host, few ranks).
  bool agrees(const Request& request) const;
  Choice small(const Request& request) const;
  // Fails: invalid-usage when deterministic results were asked for and nothing possible gives them.
  Result<Choice> large(const Request& request, const Reach& reach) const;
  // The cost model's answer, microseconds, for memory that peers cannot reach.
  double estimate_us(const Request& request) const;
  // Settings that must be equal on all ranks.
  static std::int64_t direct_ranks_max();
  static std::int64_t pull_min();
  static std::string algorithm_wish();
  // GYRE_ALGO, checked. Fails: invalid-usage, naming the collectives that have it.
  Status check() const;

 private:
  bool valid(Collective collective, Algorithm algorithm, int root) const;
  Algorithm first_valid(const Request& request, std::initializer_list<Algorithm> wishes) const;
  Result<Algorithm> tuned(const Request& request, std::size_t bytes, const Reach& reach) const;

  const Layout& layout_;
  bool deterministic_;
  std::optional<Algorithm> forced_;
  mutable Tuner tuner_;
  // Tuned answers by collective, power of two of bytes and reach; one communicator, one thread.
  mutable std::unordered_map<std::uint32_t, Algorithm> known_;
};

}  // namespace gyre
