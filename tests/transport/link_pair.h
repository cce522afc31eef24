// Two ends of one link in one process, made the way of each transport. Knows how to make them,
// break them and how to find news that reached an end. Does not know what the tests do with them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique.h"
#include "transport/desk.h"
#include "transport/link.h"

namespace gyre {

// End 0 is rank 0's link to rank 1, end 1 the other way round.
struct LinkPair {
  std::unique_ptr<Desk> desks[2];  // of mapped links; outlive the links
  std::unique_ptr<Link> ends[2];
  std::vector<Fd> lines[2];  // further descriptors of the two sockets, to break them with

  // As the kernel does it when the process of `end` dies: no good-bye.
  void kill(int end);
  // As a destroyed communicator does it.
  void leave(int end);
  // News at `end`, wherever this transport keeps them.
  Result<PeerNews> news(int end) const;
};

struct LinkMaker {
  std::string name;
  std::function<LinkPair(std::uint64_t seed)> make;
};

// Every transport, plain and with seeded faults.
std::vector<LinkMaker> link_makers();
// Links that break after 1 to `cut` transfers.
std::vector<LinkMaker> cutting_makers(std::uint64_t cut);

}  // namespace gyre
