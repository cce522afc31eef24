#include "api/handle.h"

#include <pthread.h>

#include <deque>

namespace gyre {

namespace {

// A recycled handle rests while so many others do: a stale one is then most likely still free.
constexpr std::size_t kRestingMin = 256;

struct Pool {
  std::mutex mutex;
  std::deque<gyreComm> all;  // never shrinks: addresses stay valid
  std::deque<gyreComm*> resting;
  int serial = 0;
};

// Leaked: handles may be used while static destructors run.
Pool& pool() {
  static auto* made = new Pool;
  return *made;
}

thread_local std::string thread_error;

std::atomic<int> forks{0};
[[maybe_unused]] const int watching_forks =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

int fork_count() { return forks.load(std::memory_order_relaxed); }

gyreComm* take_handle() {
  std::lock_guard lock(pool().mutex);
  gyreComm* handle;
  if (pool().resting.size() <= kRestingMin) {
    handle = &pool().all.emplace_back();
  } else {
    handle = pool().resting.front();
    pool().resting.pop_front();
  }
  handle->serial = pool().serial++ & 0x3ff;
  handle->forks = fork_count();
  handle->stop_init = false;
  handle->last_error.clear();
  handle->init_failure = {};
  handle->operators.clear();
  handle->windows.clear();
  handle->state = HandleState::starting;
  return handle;
}

std::optional<HandleState> close_handle(gyreComm* handle) {
  HandleState before = handle->state.load();
  do {
    if (before == HandleState::free || before == HandleState::closing) return std::nullopt;
  } while (!handle->state.compare_exchange_weak(before, HandleState::closing));
  return before;
}

void recycle_handle(gyreComm* handle) {
  handle->worker.reset();
  handle->comm.reset();
  handle->state = HandleState::free;
  std::lock_guard lock(pool().mutex);
  pool().resting.push_back(handle);
}

bool is_alive(const gyreComm* handle) {
  if (!handle) return false;
  const HandleState state = handle->state.load();
  return state != HandleState::free && state != HandleState::closing;
}

bool is_inherited(const gyreComm* handle) { return handle->forks != fork_count(); }

Status check_alive(const gyreComm* handle, const char* what) {
  if (!handle) return error(Code::invalid_argument, "{}: the communicator is NULL", what);
  if (!is_alive(handle))
    return error(Code::invalid_argument, "{}: the communicator has been destroyed", what);
  if (is_inherited(handle))
    return error(Code::invalid_usage,
                 "{}: the communicator is the parent process's; a forked child makes its own",
                 what);
  return {};
}

Status check_ready(gyreComm* handle, const char* what) {
  GYRE_TRY(check_alive(handle, what));
  switch (handle->state.load()) {
    case HandleState::ready:
      return {};
    case HandleState::starting:
      return error(Code::invalid_usage,
                   "{}: the communicator's init is still in progress: poll gyreCommGetAsyncError",
                   what);
    case HandleState::failed:
      return error(Code::invalid_usage, "{}: the communicator's init failed: {}", what,
                   handle->init_failure.text);
    case HandleState::finalized:
      return error(Code::invalid_usage, "{}: the communicator has been finalized", what);
    case HandleState::closing:
    case HandleState::free:
      break;
  }
  return error(Code::invalid_argument, "{}: the communicator has been destroyed", what);
}

void* fresh_name() {
  // Above every address of a user's memory, so that no pointer is taken for a name.
  static std::atomic<std::uintptr_t> next{0x6779'0000'0000'0000};
  return reinterpret_cast<void*>(next.fetch_add(16));
}

gyreResult_t answer(gyreComm* handle, const Status& status) {
  if (status) [[likely]]
    return gyreSuccess;
  const Error& why = status.error();
  thread_error = why.text;
  if (is_alive(handle)) {
    std::lock_guard lock(handle->mutex);
    handle->last_error = why.text;
  }
  return static_cast<gyreResult_t>(why.code);
}

const char* last_error_of_thread() { return thread_error.c_str(); }

}  // namespace gyre
