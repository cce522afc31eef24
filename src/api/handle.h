// Handles: what gyreComm_t points to. Knows who is inside a call, the state of a non-blocking init
// and the last error. Handles are never unmapped and used again late, so that a stale one is an
// error and no crash.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "core/communicator.h"
#include "core/stream.h"
#include "gyre/gyre.h"

namespace gyre {

// Handles that are closing take no new calls; one thread alone moves them on to free.
enum class HandleState : int { free, starting, ready, failed, finalized, closing };

}  // namespace gyre

struct gyreComm {
  std::atomic<gyre::HandleState> state{gyre::HandleState::free};
  std::atomic<int> users{0};   // calls inside; the memory is recycled only at zero
  std::atomic<int> queued{0};  // calls on streams, not yet done
  std::atomic<bool> stop_init{false};
  int forks = 0;  // of this process when the handle was made
  std::unique_ptr<gyre::Communicator> comm;
  gyre::Error init_failure;                  // constant from the state `failed` on
  std::thread starter;                       // a non-blocking init
  std::mutex mutex;                          // of what follows
  std::shared_ptr<gyre::HostStream> worker;  // runs this rank's part of groups over several ranks
  std::string last_error;
  std::map<int, gyre::PremulScalar> operators;
  std::set<void*> windows;  // names of what is registered
  int next_operator = 0;
  int serial = 0;
};

namespace gyre {

gyreComm* take_handle();
// Shuts the handle to new calls. Gives: its state before, or nothing when it was not alive or
// another thread was first; who gets a state goes on to recycle_handle().
std::optional<HandleState> close_handle(gyreComm* handle);
// Needs: closed by this thread, nobody inside.
void recycle_handle(gyreComm* handle);
// True for pointers that take_handle() gave and nobody has closed.
bool is_alive(const gyreComm* handle);
// Ok when `handle` is alive and of this process: a forked child shares its parent's links and has
// none of its threads. `what` names the call.
Status check_alive(const gyreComm* handle, const char* what);
// As check_alive, and ready for an operation; the reason otherwise.
Status check_ready(gyreComm* handle, const char* what);
// True in a process that was forked after the handle was made.
bool is_inherited(const gyreComm* handle);
// How many forks lie between this process and the first.
int fork_count();

// A number for an object that users hold: never given twice and no address, so that a stale one is
// found out.
void* fresh_name();

// Counts a call in and out. Made before the state is looked at: then whoever closes the handle
// either sees the call or is seen by it. `handle` may be null.
class Use {
 public:
  explicit Use(gyreComm* handle) : handle_(handle) {
    if (handle_) handle_->users.fetch_add(1);
  }
  ~Use() {
    if (handle_) handle_->users.fetch_sub(1);
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  gyreComm* handle_;
};

// Counts a call on a stream, from its queueing to its end.
class Queued {
 public:
  explicit Queued(gyreComm* handle) : handle_(handle) { handle_->queued.fetch_add(1); }
  ~Queued() {
    handle_->queued.fetch_sub(1);
    handle_->queued.notify_all();
  }
  Queued(const Queued&) = delete;
  Queued& operator=(const Queued&) = delete;

 private:
  gyreComm* handle_;
};

// Turns a status into a code and keeps its text for gyreGetLastError, of `handle` (where it is
// alive) and of this thread.
gyreResult_t answer(gyreComm* handle, const Status& status);
const char* last_error_of_thread();

}  // namespace gyre
