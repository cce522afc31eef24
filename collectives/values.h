// Abstract values: which piece of data, whose parts are in it, how they were added. Knows sets and
// hashes. Does not know numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gyre {

// Where in the message: the same on all ranks.
struct Spot {
  std::int32_t piece = 0;
  std::uint64_t loop = 0;
  std::uint16_t part = 0;
  auto operator<=>(const Spot&) const = default;
};

struct Value {
  Spot spot;
  bool final = false;
  int roundings = 0;       // most moves that combined on the way of any part
  int additions = 0;       // most single additions on the way of any part
  std::uint64_t tree = 0;  // hash of the addition tree: equal trees give equal bits
};

class Values {
 public:
  explicit Values(int ranks) : ranks_(ranks), words_((static_cast<std::size_t>(ranks) + 63) / 64) {}

  int leaf(const Spot& spot, int rank);
  // One source: itself. More: their sum in this order. -1 and `why` when they do not belong
  // together.
  int combine(std::span<const int> sources, std::string& why);
  // The same value, post-scaled; -1 when it already was.
  int finish(int id);

  const Value& operator[](int id) const { return values_[static_cast<std::size_t>(id)]; }
  // What this value is on a rank `by` above: piece and ranks moved by `by`, mod the ranks.
  int rotated(int id, int by);
  // The tree of one move over all ranks in rank order.
  std::uint64_t rank_order_tree(std::int32_t piece) const;
  // Every rank's part exactly once, or just that of `rank`.
  bool has_everyone(int id) const;
  bool has_only(int id, int rank) const;
  std::string to_text(int id) const;  // "piece 3 of ranks 0 1 2"

 private:
  bool has(int id, int rank) const;
  int add(const Value& value, std::vector<std::uint64_t> members);
  // Counted from the piece, so that rotation changes no tree.
  std::uint64_t leaf_tree(std::int32_t piece, int rank) const;
  std::span<const std::uint64_t> members(int id) const {
    return {members_.data() + static_cast<std::size_t>(id) * words_, words_};
  }

  int ranks_;
  std::size_t words_;
  std::vector<Value> values_;
  std::vector<std::uint64_t> members_;  // words_ per value, a bit per rank
};

}  // namespace gyre
