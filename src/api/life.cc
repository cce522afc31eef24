// Life of a communicator in the public API: errors, children, end, state.
#include "api/life.h"

#include "api/group.h"

namespace gyre {

namespace {

// Waits until nobody else is inside a call; stopped calls leave within milliseconds.
void wait_alone(gyreComm* handle) {
  while (handle->users.load() > 0) {
    const timespec pause{0, 200'000};
    nanosleep(&pause, nullptr);
  }
}

// Wraps a child as a handle; a null child gives NULL.
gyreComm_t adopt(std::unique_ptr<Communicator> child) {
  if (!child) return nullptr;
  gyreComm* handle = take_handle();
  handle->comm = std::move(child);
  handle->state = HandleState::ready;
  return handle;
}

Error by_user(const gyreComm* handle, const char* what) {
  const int rank = handle->comm->rank();
  return error(Code::aborted, "rank {} {}", rank, what).blame(rank);
}

}  // namespace

void discard(gyreComm* handle) {
  if (is_inherited(handle)) {
    // Its links are the parent's and its threads are not here: nothing of it may be touched.
    handle->state = HandleState::free;
    return;
  }
  handle->stop_init = true;
  if (handle->starter.joinable()) handle->starter.join();
  wait_alone(handle);
  recycle_handle(handle);
}

}  // namespace gyre

using namespace gyre;

gyreResult_t gyreGetVersion(int* version) {
  if (!version)
    return answer(nullptr, error(Code::invalid_argument, "the place for the version is NULL"));
  *version = GYRE_VERSION_CODE;
  return gyreSuccess;
}

const char* gyreGetErrorString(gyreResult_t result) { return to_text(static_cast<Code>(result)); }

const char* gyreGetLastError(gyreComm_t comm) {
  if (!is_alive(comm)) return last_error_of_thread();
  // A copy: another thread's failure may replace the communicator's while this one is read.
  thread_local std::string shown;
  std::lock_guard lock(comm->mutex);
  shown = comm->last_error;
  return shown.c_str();
}

gyreResult_t gyreCommSplit(gyreComm_t comm, int color, int key, gyreComm_t* child,
                           gyreConfig_t* config) {
  Use use(comm);
  Status sound = check_ready(comm, "split");
  if (!sound) return answer(comm, sound);
  if (!child || (color < 0 && color != GYRE_SPLIT_NOCOLOR))
    return answer(comm, error(Code::invalid_argument,
                              "split with color {} or no place for the child", color));
  *child = nullptr;
  bool blocking = true;
  auto options = options_of(config, &blocking);
  if (!options) return answer(comm, options.take_error());
  if (!config) options = comm->comm->options();
  auto run = [=, options = *options]() -> Status {
    Use inside(comm);
    GYRE_TRY(check_ready(comm, "split"));
    std::lock_guard lock(comm->comm->mutex());
    *child =
        adopt(GYRE_TRY_WHILE(comm->comm->split(color, key, options), "splitting a communicator"));
    return {};
  };
  if (!in_group()) return answer(comm, run());
  group_add_init({run, [] {}});
  return gyreSuccess;
}

gyreResult_t gyreCommShrink(gyreComm_t comm, int* exclude, int exclude_count, gyreComm_t* child,
                            gyreConfig_t* config, int flags) {
  Use use(comm);
  Status sound = check_ready(comm, "shrink");
  if (!sound) return answer(comm, sound);
  if (!child || exclude_count < 0 || (exclude_count > 0 && !exclude))
    return answer(comm,
                  error(Code::invalid_argument, "shrink without a list or a place for the child"));
  *child = nullptr;
  if (flags != GYRE_SHRINK_DEFAULT && flags != GYRE_SHRINK_ABORT)
    return answer(comm, error(Code::invalid_argument, "shrink flags {} do not exist", flags));
  bool blocking = true;
  auto options = options_of(config, &blocking);
  if (!options) return answer(comm, options.take_error());
  if (flags == GYRE_SHRINK_ABORT) comm->comm->stop(by_user(comm, "is shrinking its communicator"));
  std::lock_guard lock(comm->comm->mutex());
  if (!config) options = comm->comm->options();
  auto made = comm->comm->shrink({exclude, static_cast<std::size_t>(exclude_count)}, *options);
  if (!made) return answer(comm, made.take_error().context("shrinking a communicator"));
  *child = adopt(*std::move(made));
  return gyreSuccess;
}

gyreResult_t gyreCommFinalize(gyreComm_t comm) {
  Use use(comm);
  Status sound = check_ready(comm, "finalize");
  if (!sound) return answer(comm, sound);
  for (int queued; (queued = comm->queued.load()) > 0;) comm->queued.wait(queued);
  // Operations in calling threads hold the mutex while they run.
  std::lock_guard lock(comm->comm->mutex());
  HandleState expected = HandleState::ready;
  comm->state.compare_exchange_strong(expected, HandleState::finalized);
  return gyreSuccess;
}

gyreResult_t gyreCommDestroy(gyreComm_t comm) {
  if (!comm || !close_handle(comm))
    return answer(nullptr, error(Code::invalid_argument,
                                 "destroy: the communicator is NULL or has been destroyed"));
  discard(comm);
  return gyreSuccess;
}

gyreResult_t gyreCommAbort(gyreComm_t comm) {
  const auto before = comm ? close_handle(comm) : std::nullopt;
  if (!before)
    return answer(nullptr, error(Code::invalid_argument,
                                 "abort: the communicator is NULL or has been destroyed"));
  const bool joined = *before == HandleState::ready || *before == HandleState::finalized;
  if (joined && !is_inherited(comm)) comm->comm->abandon(by_user(comm, "aborted the communicator"));
  discard(comm);
  return gyreSuccess;
}

gyreResult_t gyreCommRevoke(gyreComm_t comm, int flags) {
  Use use(comm);
  Status sound = check_ready(comm, "revoke");
  if (sound && flags != 0)
    sound = error(Code::invalid_argument, "revoke takes no flags, not {}", flags);
  if (!sound) return answer(comm, sound);
  comm->comm->abandon(by_user(comm, "revoked the communicator"));
  return gyreSuccess;
}

gyreResult_t gyreCommGetAsyncError(gyreComm_t comm, gyreResult_t* state) {
  Use use(comm);
  Status sound = check_alive(comm, "get async error");
  if (sound && !state) sound = error(Code::invalid_argument, "the place for the state is NULL");
  if (!sound) return answer(comm, sound);
  switch (comm->state.load()) {
    case HandleState::starting:
      *state = gyreInProgress;
      return gyreSuccess;
    case HandleState::failed:
      *state = static_cast<gyreResult_t>(comm->init_failure.code);
      return gyreSuccess;
    case HandleState::closing:
    case HandleState::free:
      return answer(nullptr, check_alive(comm, "get async error"));
    case HandleState::ready:
    case HandleState::finalized:
      break;
  }
  if (comm->comm->mutex().try_lock()) {
    comm->comm->look();
    comm->comm->mutex().unlock();
  }
  *state = gyreSuccess;
  if (auto why = comm->comm->fault()) *state = answer(comm, Status(*std::move(why)));
  return gyreSuccess;
}

gyreResult_t gyreCommCount(gyreComm_t comm, int* count) {
  Use use(comm);
  Status sound = check_ready(comm, "count");
  if (sound && !count) sound = error(Code::invalid_argument, "the place for the count is NULL");
  if (!sound) return answer(comm, sound);
  *count = comm->comm->size();
  return gyreSuccess;
}

gyreResult_t gyreCommUserRank(gyreComm_t comm, int* rank) {
  Use use(comm);
  Status sound = check_ready(comm, "user rank");
  if (sound && !rank) sound = error(Code::invalid_argument, "the place for the rank is NULL");
  if (!sound) return answer(comm, sound);
  *rank = comm->comm->rank();
  return gyreSuccess;
}

gyreResult_t gyreCommDevice(gyreComm_t comm, int* device) {
  Use use(comm);
  Status sound = check_ready(comm, "device");
  if (sound && !device) sound = error(Code::invalid_argument, "the place for the device is NULL");
  if (!sound) return answer(comm, sound);
  *device = -1;
  return gyreSuccess;
}
