// One meeting: connections between this rank and some of its peers, being made side by side. Knows
// who dials, who answers, and who has died before he called. Does not know what the connections are
// for, nor how long to wait.
#pragma once

#include "core/dialer.h"
#include "core/doorway.h"

#include <poll.h>

#include <optional>
#include <vector>

namespace gyre {

class Meeting {
 public:
  // As Doorway::connect(), but never waits: the owner steps it. `call.alarms` are the owner's to
  // watch. Needs: the door outlives this.
  Meeting(Doorway& door, const Call& call, std::vector<Peer> peers);

  // Goes as far as it can. Gives those connected since the last step, in no order. Fails: remote,
  // naming the rank that is gone.
  Result<std::vector<Connection>> step();
  bool done() const { return missing_ == 0; }

  // Adds what poll(2) should watch; gives when to step even if nothing comes.
  Nanos watch(std::vector<pollfd>& entries);
  // Needs: not done. What to say when the deadline has passed.
  Error late() const;

 private:
  struct Guest {
    Peer peer;
    bool met = false;
    std::optional<Dialer> dial;  // empty for those who call us, and when through
  };
  Result<Dialer> dial(const Guest& guest, Purpose purpose) const;
  bool calls_us(const Guest& guest) const { return call_.rank < guest.peer.rank; }
  Status dial_out(std::vector<Connection>& met);
  Status answer(std::vector<Connection>& met);
  Status knock();
  Error blame(const Guest& guest, Code code, std::string_view what) const;

  Doorway& door_;
  Call call_;
  std::vector<Guest> guests_;
  std::size_t missing_ = 0;
  std::size_t answers_missing_ = 0;
  std::optional<Dialer> knock_;  // at the door of guests_[knocked_]
  std::size_t knocked_ = 0;
  Nanos next_knock_;
};

}  // namespace gyre
