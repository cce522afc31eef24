#include "api/handle.h"

#include <deque>
#include <vector>

namespace gyre {

namespace {

struct Pool {
  std::mutex mutex;
  std::deque<gyreComm> all;  // never shrinks: addresses stay valid
  std::vector<gyreComm*> spare;
  int serial = 0;
};

// Leaked: handles may be used while static destructors run.
Pool& pool() {
  static auto* made = new Pool;
  return *made;
}

thread_local std::string thread_error;

}  // namespace

gyreComm* take_handle() {
  std::lock_guard lock(pool().mutex);
  gyreComm* handle;
  if (pool().spare.empty()) {
    handle = &pool().all.emplace_back();
  } else {
    handle = pool().spare.back();
    pool().spare.pop_back();
  }
  handle->serial = pool().serial++ & 0x3ff;
  handle->stop_init = false;
  handle->last_error.clear();
  handle->init_code = Code::ok;
  handle->operators.clear();
  handle->state = HandleState::starting;
  return handle;
}

void recycle_handle(gyreComm* handle) {
  handle->comm.reset();
  handle->state = HandleState::free;
  std::lock_guard lock(pool().mutex);
  pool().spare.push_back(handle);
}

bool is_alive(const gyreComm* handle) {
  return handle && handle->state.load(std::memory_order_acquire) != HandleState::free;
}

gyreResult_t answer(gyreComm* handle, const Status& status) {
  if (status) [[likely]]
    return gyreSuccess;
  const Error& why = status.error();
  thread_error = why.text;
  if (handle) {
    std::lock_guard lock(handle->mutex);
    handle->last_error = why.text;
  }
  return static_cast<gyreResult_t>(why.code);
}

const char* last_error_of_thread() { return thread_error.c_str(); }

Status check_ready(gyreComm* handle) {
  switch (handle->state.load(std::memory_order_acquire)) {
    case HandleState::ready: return {};
    case HandleState::starting:
      return error(Code::invalid_usage,
                   "the communicator's init is still in progress: poll gyreCommGetAsyncError");
    case HandleState::failed: {
      std::lock_guard lock(handle->mutex);
      return error(Code::invalid_usage, "the communicator's init failed: {}", handle->last_error);
    }
    case HandleState::finalized:
      return error(Code::invalid_usage, "the communicator has been finalized");
    case HandleState::free: break;
  }
  return error(Code::invalid_argument, "the communicator has been destroyed");
}

}  // namespace gyre
