// Groups: calls of one thread collected until the outermost end. Knows order and streams.
#pragma once

#include <functional>

#include "api/handle.h"

namespace gyre {

struct GroupedCall {
  gyreComm* handle;
  Request request;
  std::shared_ptr<HostStream> stream;  // nullptr: the calling thread
};

bool in_group();
void group_start();
void group_add(GroupedCall call);
// Inits and splits are grouped apart: each may wait for the others, so each gets a thread at the
// end. One of the two is called, once.
struct GroupedInit {
  std::function<Status()> run;
  std::function<void()> drop;
};
void group_add_init(GroupedInit init);
// Ends one level; the outermost runs what was collected. Fails: invalid-usage without a start.
Status group_end();
// Ends the outermost level without running. Gives the calls.
Result<std::vector<GroupedCall>> group_drop();

}  // namespace gyre
