// The tuner: which algorithm for which call. Knows costs and what a call allows. Does not know
// ranks: the choice hangs on what all ranks hold alike, so that all choose alike.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "base/result.h"
#include "collectives/cost.h"

namespace gyre {

// Equal on all ranks, or they choose differently and hang.
struct TunerQuery {
  Collective collective = Collective::all_reduce;
  std::uint64_t bytes = 0;     // the buffer, or a rank's block; of V-collectives the largest block
  bool windows = false;        // every rank's buffers can be reached by every other
  bool deterministic = false;  // the result hangs on the ranks' values alone
  bool premultiplied = false;  // peers must not read inputs, which their ranks scale first
  std::optional<Algorithm> wish;  // by name, instead of by cost
};

struct TunerAnswer {
  const Entry* entry = nullptr;
  double microseconds = 0;
};

class Tuner {
 public:
  explicit Tuner(Layout layout, const CostConstants& constants = {});

  // The cheapest algorithm that the request allows; the first in the catalog among equals.
  // Fails: invalid-usage, when the wish or nothing at all is possible. One thread.
  Result<TunerAnswer> choose(const TunerQuery& request);

 private:
  bool allows(const Entry& entry, const TunerQuery& request) const;
  double cost(const Entry& entry, const TunerQuery& request);

  Layout layout_;
  CostConstants constants_;
  std::map<const Entry*, Cost> costs_;  // counted on first need
};

}  // namespace gyre
