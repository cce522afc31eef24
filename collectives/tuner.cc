#include "collectives/tuner.h"

namespace gyre {

Tuner::Tuner(Layout layout, const CostConstants& constants)
    : layout_(std::move(layout)), constants_(constants) {}

bool Tuner::allows(const Entry& entry, const TunerQuery& request) const {
  if (entry.collective != request.collective) return false;
  if (request.wish && entry.algorithm != *request.wish) return false;
  if (request.deterministic && !entry.rank_order) return false;
  if (entry.needs_windows && !request.windows) return false;
  if (entry.needs_windows && request.premultiplied && reduces(entry.collective)) return false;
  return layout_.size == 1 || entry.valid({entry.collective, entry.algorithm, 0, 0, &layout_});
}

double Tuner::cost(const Entry& entry, const TunerQuery& request) {
  auto known = costs_.find(&entry);
  if (known == costs_.end()) known = costs_.emplace(&entry, cost_of(entry, layout_)).first;
  return microseconds(known->second, request.collective, request.bytes, constants_);
}

Result<TunerAnswer> Tuner::choose(const TunerQuery& request) {
  TunerAnswer best;
  for (const Entry& entry : catalog()) {
    if (!allows(entry, request)) continue;
    const double us = cost(entry, request);
    if (!best.entry || us < best.microseconds) best = {&entry, us};
  }
  if (best.entry) return best;
  return error(Code::invalid_usage, "no algorithm{} for {} on {} ranks on {} hosts{}{}",
               request.wish ? fmt::format(" {}", to_text(*request.wish)) : "",
               to_text(request.collective), layout_.size, layout_.hosts.size(),
               request.deterministic ? ", deterministic" : "",
               request.windows ? "" : ", without windows");
}

}  // namespace gyre
