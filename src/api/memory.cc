// Memory, windows, groups and streams of the public API.
#include "api/arguments.h"
#include "api/group.h"
#include "transport/region.h"

using namespace gyre;

struct gyreWindow {
  gyreComm* comm;
  void* buffer;
  std::size_t bytes;
};

namespace {

Status check_range(gyreComm_t comm, const void* buffer, const void* out, const char* what) {
  if (!is_alive(comm)) return error(Code::invalid_argument, "{}: the communicator is NULL or destroyed", what);
  if (!buffer || !out) return error(Code::invalid_argument, "{}: the buffer or the place for the handle is NULL", what);
  return {};
}

}  // namespace

gyreResult_t gyreMemAlloc(void** pointer, size_t bytes) {
  if (!pointer) return answer(nullptr, error(Code::invalid_argument, "the place for the pointer is NULL"));
  *pointer = nullptr;
  auto made = allocate_region(bytes);
  if (!made) return answer(nullptr, made.take_error());
  *pointer = *made;
  return gyreSuccess;
}

gyreResult_t gyreMemFree(void* pointer) {
  return pointer ? answer(nullptr, free_region(pointer)) : gyreSuccess;
}

// Memory of gyreMemAlloc needs no registration, and other memory gains nothing by one on a host
// communicator: both calls keep a record, so that programs written for GPUs run unchanged.
gyreResult_t gyreCommRegister(gyreComm_t comm, void* buffer, size_t bytes, void** handle) {
  Status sound = check_range(comm, buffer, handle, "register");
  if (!sound) return answer(nullptr, sound);
  *handle = new gyreWindow{comm, buffer, bytes};
  return gyreSuccess;
}

gyreResult_t gyreCommDeregister(gyreComm_t comm, void* handle) {
  auto* window = static_cast<gyreWindow*>(handle);
  if (!is_alive(comm) || (window && window->comm != comm))
    return answer(nullptr, error(Code::invalid_argument, "deregister: not a handle of this communicator"));
  delete window;
  return gyreSuccess;
}

gyreResult_t gyreCommWindowRegister(gyreComm_t comm, void* buffer, size_t bytes, gyreWindow_t* window,
                                    int flags) {
  Status sound = check_range(comm, buffer, window, "window register");
  if (!sound) return answer(nullptr, sound);
  if (flags != GYRE_WIN_DEFAULT && flags != GYRE_WIN_COLL_SYMMETRIC)
    return answer(comm, error(Code::invalid_argument, "window flags {} do not exist", flags));
  const gyreResult_t met = gyreBarrier(comm, nullptr);
  if (met != gyreSuccess) return met;
  *window = new gyreWindow{comm, buffer, bytes};
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
  if (!info || info->magic != 0x67797273u)
    return answer(nullptr, error(Code::invalid_argument, "the info was not made with GYRE_SIM_INFO_INITIALIZER"));
  auto calls = group_drop();
  if (!calls) return answer(nullptr, calls.take_error());
  double microseconds = 0;
  for (const GroupedCall& call : *calls) microseconds += call.handle->comm->estimate_us(call.request);
  info->estimatedTime = static_cast<float>(microseconds);
  return gyreSuccess;
}

gyreResult_t gyreHostStreamCreate(gyreStream_t* stream) {
  if (!stream) return answer(nullptr, error(Code::invalid_argument, "the place for the stream is NULL"));
  *stream = reinterpret_cast<gyreStream_t>(new HostStream);
  return gyreSuccess;
}

gyreResult_t gyreHostStreamDestroy(gyreStream_t stream) {
  if (!stream) return answer(nullptr, error(Code::invalid_argument, "the stream is NULL"));
  auto* queue = reinterpret_cast<HostStream*>(stream);
  Status status = queue->synchronize();
  delete queue;
  return answer(nullptr, status);
}

gyreResult_t gyreHostStreamSynchronize(gyreStream_t stream) {
  if (!stream) return answer(nullptr, error(Code::invalid_argument, "the stream is NULL"));
  return answer(nullptr, reinterpret_cast<HostStream*>(stream)->synchronize());
}

gyreResult_t gyreHostStreamQuery(gyreStream_t stream) {
  if (!stream) return answer(nullptr, error(Code::invalid_argument, "the stream is NULL"));
  return answer(nullptr, reinterpret_cast<HostStream*>(stream)->query());
}
