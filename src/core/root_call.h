// A rank's side of the talk with its root(s): find it, join, learn the parent, wait until the tree
// stands. Knows root_wire. Does not build the tree (bootstrap.h).
#pragma once

#include "base/result.h"
#include "core/job_id.h"
#include "core/root_wire.h"
#include "transport/socket.h"

#include <vector>

namespace gyre {

class RootCall {
 public:
  // Calls all addresses of `id`, the earlier ones with a head start, until one answers as this
  // job's root. Fails: timeout "root not reachable ...", system when no address is of a family we
  // have.
  static Result<RootCall> open(const JobId& id, const Hello& mine, const Until& until);

  const Address& address() const { return socket_.remote(); }
  int fd() const { return socket_.fd(); }
  Status send_join(const Join& join, const Until& until);
  // One of these, and only one, ends a rank's part. Neither waits or fails: a root that cannot be
  // told is gone, and recv_answer says so.
  void send_ready();
  void send_failure(const Error& why);
  // True when something waits to be read: an answer, or the root's end.
  bool has_news() const;
  // Fails: what the root says the job failed of; remote when the root is gone.
  Result<Answer> recv_answer(const Until& until);

 private:
  explicit RootCall(Socket socket) : socket_(std::move(socket)) {}
  void send_word(const Word& word);

  Socket socket_;
};

// The next answer of each, whichever comes first; the first failure ends it.
Result<std::vector<Answer>> recv_answers(std::vector<RootCall>& calls, const Until& until);

}  // namespace gyre
