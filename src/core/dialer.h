// One call kept up until it is answered: connects, greets, and on failure tries again with
// back-off. Knows targets and attempts. Does not know ranks; owns no thread: its owner polls and
// steps it.
#pragma once

#include "base/clock.h"
#include "transport/auth.h"

#include <poll.h>

#include <optional>
#include <vector>

namespace gyre {

class Dialer {
 public:
  // Needs: at least one target. The first that is refused is left for the next one, for good; the
  // last is tried again and again. `expected`: who must answer, all zero for anyone with the key.
  Dialer(std::vector<Address> targets, const Key& key, const Hello& mine,
         const Token& expected = {});

  // Starts what is due and goes on as far as it can; never waits. True once answered.
  bool step();
  // When step() should be called even if no event comes.
  Nanos next_due() const { return attempt_ ? kNever : next_try_; }
  void delay_until(Nanos when) { next_try_ = when; }
  // What to poll for; fd -1 while waiting for the next try.
  pollfd poll_entry() const;

  // Needs: step() was true.
  Greeted take();
  // Why it has not worked so far, with the address tried last.
  std::string trouble() const;
  // How long the last target has refused every try, 0 while it has not. Others' doors (wrong
  // secret, other process) count as refusals.
  Nanos refused_for() const { return refused_since_ == 0 ? 0 : now_ns() - refused_since_; }

 private:
  void start_attempt();
  void attempt_failed(Error why);

  std::vector<Address> targets_;
  std::size_t at_ = 0;
  Key key_;
  Hello mine_;
  Token expected_;
  std::optional<Handshake> attempt_;
  Nanos next_try_ = 0;
  Nanos pause_ = 0;
  Nanos refused_since_ = 0;
  int tries_ = 0;
  std::string last_error_;
};

}  // namespace gyre
