// Memory, windows, groups and streams of the public API.
#include "core/memory.h"
#include "api/arguments.h"
#include "api/group.h"
#include "api/streams.h"

using namespace gyre;

namespace {

// Memory of gyreMemAlloc needs no registration, and other memory gains nothing by one on a host
// communicator: a name is all that registering makes, so that programs written for GPUs run
// unchanged.
Result<void*> name_range(gyreComm_t comm, const void* buffer, const void* out, const char* what) {
  GYRE_TRY(check_ready(comm, what));
  if (!buffer || !out)
    return error(Code::invalid_argument, "{}: the buffer or the place for the handle is NULL",
                 what);
  void* name = fresh_name();
  std::lock_guard lock(comm->mutex);
  comm->windows.insert(name);
  return name;
}

}  // namespace

gyreResult_t gyreMemAlloc(void** pointer, size_t bytes) {
  if (!pointer)
    return answer(nullptr, error(Code::invalid_argument, "the place for the pointer is NULL"));
  *pointer = nullptr;
  auto made = allocate_memory(bytes);
  if (!made) return answer(nullptr, made.take_error());
  *pointer = *made;
  return gyreSuccess;
}

gyreResult_t gyreMemFree(void* pointer) {
  return pointer ? answer(nullptr, free_memory(pointer)) : gyreSuccess;
}

gyreResult_t gyreCommRegister(gyreComm_t comm, void* buffer, size_t, void** handle) {
  Use use(comm);
  auto name = name_range(comm, buffer, handle, "register");
  if (!name) return answer(comm, name.take_error());
  *handle = *name;
  return gyreSuccess;
}

gyreResult_t gyreCommDeregister(gyreComm_t comm, void* handle) {
  Use use(comm);
  Status sound = check_alive(comm, "deregister");
  if (!sound) return answer(comm, sound);
  if (!handle) return gyreSuccess;
  std::unique_lock lock(comm->mutex);
  if (comm->windows.erase(handle) == 1) return gyreSuccess;
  lock.unlock();
  return answer(comm,
                error(Code::invalid_argument,
                      "deregister: not a handle of this communicator, or deregistered before"));
}

gyreResult_t gyreCommWindowRegister(gyreComm_t comm, void* buffer, size_t, gyreWindow_t* window,
                                    int flags) {
  Use use(comm);
  if (flags != GYRE_WIN_DEFAULT && flags != GYRE_WIN_COLL_SYMMETRIC)
    return answer(comm, error(Code::invalid_argument, "window flags {} do not exist", flags));
  auto name = name_range(comm, buffer, window, "window register");
  if (!name) return answer(comm, name.take_error());
  const gyreResult_t met = gyreBarrier(comm, nullptr);
  if (met != gyreSuccess) {
    (void)gyreCommDeregister(comm, *name);
    return met;
  }
  *window = static_cast<gyreWindow_t>(*name);
  return gyreSuccess;
}

gyreResult_t gyreCommWindowDeregister(gyreComm_t comm, gyreWindow_t window) {
  return gyreCommDeregister(comm, window);
}

gyreResult_t gyreGroupStart(void) {
  group_start();
  return gyreSuccess;
}

gyreResult_t gyreGroupEnd(void) { return answer(nullptr, group_end()); }

gyreResult_t gyreGroupSimulateEnd(gyreSimInfo_t* info) {
  if (!info || info->magic != 0x67797273u || info->size < sizeof(gyreSimInfo_t))
    return answer(nullptr, error(Code::invalid_argument,
                                 "the info was not made with GYRE_SIM_INFO_INITIALIZER"));
  auto calls = group_drop();
  if (!calls) return answer(nullptr, calls.take_error());
  double microseconds = 0;
  for (const GroupedCall& call : *calls) {
    Use use(call.handle);
    Status sound = check_ready(call.handle, "group");
    if (!sound) return answer(nullptr, sound);
    microseconds += call.handle->comm->estimate_us(call.request);
  }
  info->estimatedTime = static_cast<float>(microseconds);
  return gyreSuccess;
}

gyreResult_t gyreHostStreamCreate(gyreStream_t* stream) {
  if (!stream)
    return answer(nullptr, error(Code::invalid_argument, "the place for the stream is NULL"));
  auto made = make_stream();
  if (!made) return answer(nullptr, made.take_error());
  *stream = *made;
  return gyreSuccess;
}

gyreResult_t gyreHostStreamDestroy(gyreStream_t stream) {
  auto queue = find_stream(stream);
  if (!queue) return answer(nullptr, queue.take_error());
  forget_stream(stream);
  return answer(nullptr, (*queue)->synchronize());
}

gyreResult_t gyreHostStreamSynchronize(gyreStream_t stream) {
  auto queue = find_stream(stream);
  if (!queue) return answer(nullptr, queue.take_error());
  return answer(nullptr, (*queue)->synchronize());
}

gyreResult_t gyreHostStreamQuery(gyreStream_t stream) {
  auto queue = find_stream(stream);
  if (!queue) return answer(nullptr, queue.take_error());
  Status status = (*queue)->query();
  // Not a failure: the text of the last one stays.
  if (!status && status.error().code == Code::in_progress) return gyreInProgress;
  return answer(nullptr, status);
}
