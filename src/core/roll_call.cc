#include "core/roll_call.h"

#include <algorithm>

namespace gyre {

namespace {

std::string ranges_text(const std::vector<int>& sorted) {
  constexpr std::size_t kTextMax = 200;
  std::string out;
  for (std::size_t i = 0; i < sorted.size();) {
    if (out.size() > kTextMax) return out + ", ...";
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!out.empty()) out += ", ";
    out += fmt::format("{}", sorted[i]);
    if (last > i) out += fmt::format("-{}", sorted[last]);
    i = last + 1;
  }
  return out;
}

std::string who(const Join& join) {
  return fmt::format("rank {} (host {} pid {})", join.rank, join.card.hostname.data(),
                     join.card.pid);
}

}  // namespace

void RollCall::add(const Join& join, std::uint32_t protocol) {
  if (join.size < 1 || join.rank < 0 || join.rank >= join.size || join.blocks < 1 ||
      join.blocks > join.size || join.block < 0 || join.block >= join.blocks)
    return judge(error(Code::invalid_usage, "{} says it is one of {} ranks with {} ids", who(join),
                       join.size, join.blocks));
  if (expected_ == 0) {
    tree_ = {join.size, join.blocks};
    block_ = join.block;
    expected_ = tree_.callers(block_).size();
  }
  if (!joins_.empty()) {
    const Join& other = joins_.begin()->second;
    if (protocol != other.protocol)
      return judge(
          error(Code::invalid_usage,
                "ranks run different versions of gyre: {} speaks protocol {}, {} protocol {}",
                who(other), other.protocol, who(join), protocol));
    if (join.size != other.size)
      return judge(error(Code::invalid_usage,
                         "ranks disagree on the job's size: {} says {}, {} says {}", who(other),
                         other.size, who(join), join.size));
    if (join.blocks != other.blocks || join.block != other.block)
      return judge(error(Code::invalid_usage,
                         "ranks hold different lists of ids: {} has {} ids and calls "
                         "root {}, {} has {} and calls root {}",
                         who(other), other.blocks, other.block, who(join), join.blocks,
                         join.block));
  }
  if (!tree_.calls(join.rank, block_))
    return judge(
        error(Code::invalid_usage, "{} came to root {}, which is not its own", who(join), block_));
  const auto [found, fresh] = joins_.emplace(join.rank, join);
  if (!fresh)
    return judge(error(Code::invalid_usage,
                       "two processes say they are rank {}: host {} pid {} and host "
                       "{} pid {}",
                       join.rank, found->second.card.hostname.data(), found->second.card.pid,
                       join.card.hostname.data(), join.card.pid)
                     .blame(join.rank));
  found->second.protocol = protocol;
  if (join.patience_ns > 0 && join.patience_ns < kNever - now_ns() &&
      now_ns() + join.patience_ns < deadline_) {
    deadline_ = now_ns() + join.patience_ns;
    patience_ = join.patience_ns;
  }
}

void RollCall::left(int rank, const std::string& reason) {
  const auto found = joins_.find(rank);
  if (found == joins_.end()) return;
  const std::string how = reason.empty() ? "its connection closed" : reason;
  judge(error(Code::remote, "{} failed while the ranks met: {}", who(found->second), how)
            .blame(rank));
}

void RollCall::check_patience(Nanos now) {
  if (now < deadline_) return;
  const std::string span = duration_text(patience_ / 1_ms * 1_ms);
  if (complete())
    judge(error(Code::timeout, "after {} the bootstrap tree does not stand yet; missing: rank {}",
                span, missing_text(ready_)));
  else
    judge(error(Code::timeout, "after {} only {} of {} ranks have come; missing: rank {}", span,
                joins_.size(), expected_, missing_text(joins_)));
}

template <class Ranks>
std::string RollCall::missing_text(const Ranks& present) const {
  std::vector<int> missing;
  for (const int rank : tree_.callers(block_))
    if (!present.contains(rank)) missing.push_back(rank);
  return ranges_text(missing);
}

Answer RollCall::answer_for(int rank) const {
  Answer out;
  const int parent = tree_.parent(rank);
  const auto found = joins_.find(parent);
  // A leader learns its parent at root 0 alone; elsewhere it only leaves its card.
  if (found == joins_.end()) return out;
  out.parent_rank = parent;
  out.parent = found->second.card;
  return out;
}

}  // namespace gyre
