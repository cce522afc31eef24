// Handles: what gyreComm_t points to. Knows who is inside a call, the state of a non-blocking init and
// the last error. Handles are pooled and never unmapped, so that a stale one is an error and no crash.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/communicator.h"
#include "core/stream.h"
#include "gyre/gyre.h"

namespace gyre {

enum class HandleState : int { free, starting, ready, failed, finalized };

}  // namespace gyre

struct gyreComm {
  std::atomic<gyre::HandleState> state{gyre::HandleState::free};
  std::atomic<int> users{0};       // calls inside; the memory is recycled only at zero
  std::atomic<bool> stop_init{false};
  std::unique_ptr<gyre::Communicator> comm;
  std::thread starter;             // a non-blocking init
  std::unique_ptr<gyre::HostStream> worker;  // runs this rank's part of groups over several ranks
  std::mutex mutex;                // of what follows
  std::string last_error;
  gyre::Code init_code = gyre::Code::ok;
  std::map<int, gyre::PremulScalar> operators;
  int next_operator = 0;
  int serial = 0;
};

namespace gyre {

gyreComm* take_handle();
void recycle_handle(gyreComm* handle);
// True for pointers that take_handle() gave and recycle_handle() has not taken back.
bool is_alive(const gyreComm* handle);

// Counts a call in and out.
class Use {
 public:
  explicit Use(gyreComm* handle) : handle_(handle) { handle_->users.fetch_add(1); }
  ~Use() { handle_->users.fetch_sub(1); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  gyreComm* handle_;
};

// Turns a status into a code and keeps its text for gyreGetLastError, of `handle` (may be null) and
// of this thread.
gyreResult_t answer(gyreComm* handle, const Status& status);
const char* last_error_of_thread();

// Ok when `handle` is ready for an operation; the reason otherwise.
Status check_ready(gyreComm* handle);

}  // namespace gyre
