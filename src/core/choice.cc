#include "core/choice.h"

#include <bit>

#include "base/param.h"
#include "core/binding.h"
#include "core/mesh.h"

namespace gyre {

GYRE_PARAM(algo, std::string, "auto",
           "forces one algorithm wherever it is valid for the collective (see `gyre plan list`)");
GYRE_PARAM(
    direct_ranks_max, std::int64_t, 16,
    "most ranks of one host that exchange directly with each other; must match on all ranks");
GYRE_PARAM(
    pull_min, Bytes, 128 << 10,
    "smallest call for which plain memory is read by process_vm_readv; must match on all ranks");

namespace {

using enum Algorithm;
}  // namespace

Chooser::Chooser(const Layout& layout, bool deterministic)
    : layout_(layout), deterministic_(deterministic), tuner_(layout) {
  if (param_algo.get() != "auto")
    if (auto parsed = parse_algorithm(param_algo.get())) forced_ = *parsed;
}

std::int64_t Chooser::direct_ranks_max() { return param_direct_ranks_max.get(); }
std::int64_t Chooser::pull_min() { return static_cast<std::int64_t>(param_pull_min.get().count); }
std::string Chooser::algorithm_wish() { return param_algo.get(); }

Status Chooser::check() const {
  if (param_algo.get() == "auto") return {};
  auto parsed = parse_algorithm(param_algo.get());
  if (!parsed) return error(Code::invalid_usage, "GYRE_ALGO: {}", parsed.error().text);
  for (const Entry& entry : catalog())
    if (entry.algorithm == *parsed) return {};
  return error(Code::invalid_usage, "GYRE_ALGO={}: no collective has it", param_algo.get());
}

bool Chooser::valid(Collective collective, Algorithm algorithm, int root) const {
  const Entry* entry = find_entry(collective, algorithm);
  if (!entry || (deterministic_ && !entry->rank_order)) return false;
  const Shape shape{collective, algorithm, 0, root, &layout_};
  return entry->valid(shape);
}

Algorithm Chooser::first_valid(const Request& request,
                               std::initializer_list<Algorithm> wishes) const {
  const int root = is_point_to_point(request.what) ? 0 : request.root;
  for (const Algorithm wish : wishes)
    if (valid(request.what, wish, root)) return wish;
  for (const Entry& entry : catalog())
    if (entry.collective == request.what && !entry.needs_windows &&
        valid(request.what, entry.algorithm, root))
      return entry.algorithm;
  return pairwise;
}

bool Chooser::is_small(const Request& request) const {
  if (request.what == Collective::barrier) return true;
  if (layout_.size == 1) return true;
  if (layout_.size > param_direct_ranks_max.get() || forced_) return false;
  if (request.what == Collective::all_to_all_v) return false;  // sizes are not the same everywhere
  // Rooted calls alone would talk over edges that depend on the root: ranks that disagree about it
  // would never hear of each other, so these agree first whatever their size.
  if (layout_.single_host() && is_rooted(request.what)) return false;
  return message_bytes(request) <= kSmallSlotBytes;
}

bool Chooser::agrees(const Request&) const {
  return layout_.single_host() && layout_.size <= param_direct_ranks_max.get() && layout_.size > 1;
}

Choice Chooser::small(const Request& request) const {
  // A barrier among few is an all_gather of nothing: its signature meets other calls' first
  // messages.
  if (request.what == Collective::barrier && layout_.size <= param_direct_ranks_max.get() &&
      valid(Collective::all_gather, one_shot, 0))
    return {one_shot, EdgeKind::small};
  return {first_valid(request, {one_shot, two_shot, pairwise, doubling}), EdgeKind::small};
}

Result<Algorithm> Chooser::tuned(const Request& request, std::size_t bytes,
                                 const Reach& reach) const {
  const bool windows = reach.mapped || reach.pull;
  const auto bucket = static_cast<std::uint32_t>(std::bit_width(bytes));
  const bool premultiplied = request.op == Op::premul_sum;
  const std::uint32_t key = static_cast<std::uint32_t>(request.what) | bucket << 8 |
                            static_cast<std::uint32_t>(windows) << 16 |
                            static_cast<std::uint32_t>(premultiplied) << 17;
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  TunerQuery query{.collective = request.what,
                   .bytes = std::uint64_t{1} << bucket,
                   .windows = windows,
                   .deterministic = deterministic_,
                   .premultiplied = premultiplied};
  const TunerAnswer answer = GYRE_TRY(tuner_.choose(query));
  const Algorithm algorithm = answer.entry->algorithm;
  known_.emplace(key, algorithm);
  return algorithm;
}

Result<Choice> Chooser::large(const Request& request, const Reach& reached) const {
  // Peers cannot read an input that its owner must scale first; uneven all-to-all offsets are
  // private.
  const bool private_data =
      request.op == Op::premul_sum || request.what == Collective::all_to_all_v;
  const std::size_t bytes = message_bytes(request);
  Reach reach = private_data ? Reach{} : reached;
  if (bytes < param_pull_min.get().count) reach.pull = false;
  if (forced_ && valid(request.what, *forced_, request.root)) {
    const Entry* entry = find_entry(request.what, *forced_);
    if (!entry->needs_windows || reach.mapped || (reach.pull && *forced_ == window_pull))
      return Choice{*forced_, EdgeKind::bulk};
  }
  if (reach.mapped && valid(request.what, window_push, request.root))
    return Choice{window_push, EdgeKind::bulk};
  // A reduction reads what it pulls once more from a bounce: copying through slots is as fast.
  if (reach.pull && !reduces(request.what) && valid(request.what, window_pull, request.root))
    return Choice{window_pull, EdgeKind::bulk};
  const Algorithm best = GYRE_TRY(tuned(request, bytes, {}));
  return Choice{best, EdgeKind::bulk};
}

double Chooser::estimate_us(const Request& request) const {
  auto answer = tuner_.choose({.collective = request.what,
                               .bytes = message_bytes(request),
                               .deterministic = deterministic_,
                               .premultiplied = request.op == Op::premul_sum});
  return answer ? answer->microseconds : 0;
}

}  // namespace gyre
