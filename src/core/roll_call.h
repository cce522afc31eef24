// Who has come to a root and what that means: complete, contradictory, or still waited for. Knows
// Joins. Does not know sockets, so that every mistake of a user is a table test.
#pragma once

#include "base/clock.h"
#include "core/root_wire.h"
#include "core/tree.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gyre {

class RollCall {
 public:
  // Notes a rank. A contradiction becomes the verdict. Later joins change no verdict.
  void add(const Join& join, std::uint32_t protocol_in_hello);
  // A rank's part of the tree stands.
  void ready(int rank) { ready_.insert(rank); }
  // A rank failed, or its connection closed (empty reason), before the whole tree stood.
  void left(int rank, const std::string& reason);
  // Gives up when somebody's patience has ended.
  void check_patience(Nanos now);

  // The service itself cannot go on.
  void fail(Error error) { judge(std::move(error)); }

  // How many callers there will be; 0 until the first has said so.
  std::size_t expected() const { return expected_; }
  bool complete() const { return expected_ > 0 && joins_.size() == expected_; }
  bool all_ready() const { return complete() && ready_.size() == expected_; }
  const std::optional<Error>& verdict() const { return verdict_; }
  Nanos deadline() const { return deadline_; }
  // Needs: complete().
  Answer answer_for(int rank) const;

 private:
  // "3, 7-9": callers that are not in `present`.
  template <class Ranks>
  std::string missing_text(const Ranks& present) const;
  void judge(Error error) {
    if (!verdict_) verdict_ = std::move(error);
  }

  Tree tree_;
  int block_ = 0;
  std::size_t expected_ = 0;  // 0 until the first rank has said how many
  std::map<int, Join> joins_;
  std::set<int> ready_;
  std::optional<Error> verdict_;
  Nanos deadline_ = kNever;
  Nanos patience_ = 0;  // of who set the deadline, for the sentence
};

}  // namespace gyre
