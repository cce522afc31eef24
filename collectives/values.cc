#include "collectives/values.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace gyre {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t next) {
  hash = (hash ^ next) * 0x9e3779b97f4a7c15;
  hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9;
  return hash ^ (hash >> 32);
}

}  // namespace

std::uint64_t Values::leaf_tree(std::int32_t piece, int rank) const {
  const std::int32_t from_piece = (rank - piece % ranks_ + ranks_) % ranks_;
  return mix(1, static_cast<std::uint64_t>(from_piece));
}

std::uint64_t Values::rank_order_tree(std::int32_t piece) const {
  if (ranks_ == 1) return leaf_tree(piece, 0);
  auto tree = static_cast<std::uint64_t>(ranks_);
  for (int rank = 0; rank < ranks_; ++rank) tree = mix(tree, leaf_tree(piece, rank));
  return tree;
}

int Values::rotated(int id, int by) {
  Value value = (*this)[id];
  value.spot.piece = (value.spot.piece + by) % ranks_;
  std::vector<std::uint64_t> turned(words_, 0);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!has(id, rank)) continue;
    const auto moved = static_cast<std::size_t>((rank + by) % ranks_);
    turned[moved / 64] |= std::uint64_t{1} << (moved % 64);
  }
  return add(value, turned);
}

int Values::add(const Value& value, std::vector<std::uint64_t> members) {
  values_.push_back(value);
  members_.insert(members_.end(), members.begin(), members.end());
  return static_cast<int>(values_.size()) - 1;
}

int Values::leaf(const Spot& spot, int rank) {
  std::vector<std::uint64_t> members(words_, 0);
  members[static_cast<std::size_t>(rank) / 64] |= std::uint64_t{1} << (rank % 64);
  return add({.spot = spot, .tree = leaf_tree(spot.piece, rank)}, members);
}

int Values::combine(std::span<const int> sources, std::string& why) {
  if (sources.size() == 1) return sources[0];
  Value sum{.spot = (*this)[sources[0]].spot, .tree = sources.size()};
  std::vector<std::uint64_t> all(words_, 0);
  for (const int& id : sources) {
    const Value& part = (*this)[id];
    if (part.spot != sum.spot || part.final) {
      why = fmt::format("adds {} {} to {}", part.final ? "the finished" : "", to_text(id),
                        to_text(sources[0]));
      return -1;
    }
    for (std::size_t w = 0; w < words_; ++w) {
      if (const std::uint64_t twice = all[w] & members(id)[w]) {
        why = fmt::format("counts rank {} twice",
                          w * 64 + static_cast<std::size_t>(std::countr_zero(twice)));
        return -1;
      }
      all[w] |= members(id)[w];
    }
    sum.tree = mix(sum.tree, part.tree);
    sum.roundings = std::max(sum.roundings, part.roundings + 1);
    const bool first = &id == sources.data();
    sum.additions = std::max(sum.additions, part.additions) + (first ? 0 : 1);
  }
  return add(sum, all);
}

int Values::finish(int id) {
  Value value = (*this)[id];
  if (value.final) return -1;
  value.final = true;
  return add(value, {members(id).begin(), members(id).end()});
}

bool Values::has(int id, int rank) const {
  return members(id)[static_cast<std::size_t>(rank) / 64] >> (rank % 64) & 1;
}

bool Values::has_everyone(int id) const {
  for (int rank = 0; rank < ranks_; ++rank)
    if (!has(id, rank)) return false;
  return true;
}

bool Values::has_only(int id, int rank) const {
  int count = 0;
  for (const std::uint64_t word : members(id)) count += std::popcount(word);
  return count == 1 && has(id, rank);
}

std::string Values::to_text(int id) const {
  const Spot& spot = (*this)[id].spot;
  std::string text =
      fmt::format("piece {} loop {} part {} of ranks", spot.piece, spot.loop, spot.part);
  for (int rank = 0; rank < ranks_; ++rank)
    if (has(id, rank)) text += fmt::format(" {}", rank);
  return text;
}

}  // namespace gyre
