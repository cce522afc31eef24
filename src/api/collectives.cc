// The collectives of the public API: checks, then a request that runs now, in a group or on a stream.
#include "api/arguments.h"
#include "api/group.h"

#include <cstring>

namespace gyre {

namespace {

Status perform(Request&& request, gyreComm* handle, gyreStream_t stream) {
  GYRE_TRY(check_ready(handle));
  Communicator& comm = *handle->comm;
  GYRE_TRY(check_request(request, comm.rank(), comm.size()));
  if (!is_point_to_point(request.what) && !is_uneven(request.what) && request.count == 0 &&
      request.what != Collective::barrier)
    return {};
  auto* queue = reinterpret_cast<HostStream*>(stream);
  if (in_group()) {
    group_add({handle, std::move(request), queue});
    return {};
  }
  if (queue) {
    queue->enqueue([handle, request = std::move(request)]() -> Status {
      Use use(handle);
      GYRE_TRY(check_ready(handle));
      std::lock_guard lock(handle->comm->mutex());
      Status status = handle->comm->run({&request, 1});
      if (!status) (void)answer(handle, status);
      return status;
    });
    return {};
  }
  std::lock_guard lock(comm.mutex());
  if (is_point_to_point(request.what)) return comm.run({&request, 1});
  return comm.run_one(request);
}

gyreResult_t submit(Request&& request, gyreComm_t handle, gyreStream_t stream) {
  if (!is_alive(handle))
    return answer(nullptr, error(Code::invalid_argument, "{}: the communicator is NULL or destroyed",
                                 to_text(request.what)));
  Use use(handle);
  return answer(handle, perform(std::move(request), handle, stream));
}

// Fills in type and op, then submits.
gyreResult_t submit_typed(Request&& request, gyreDataType_t type, gyreComm_t handle,
                          gyreStream_t stream, const gyreRedOp_t* op = nullptr) {
  auto known = to_type(type);
  if (!known) return answer(is_alive(handle) ? handle : nullptr, known.take_error());
  request.type = *known;
  if (op) {
    if (!is_alive(handle))
      return answer(nullptr, error(Code::invalid_argument, "{}: the communicator is NULL or destroyed",
                                   to_text(request.what)));
    auto resolved = to_op(*op, *known, handle);
    if (!resolved) return answer(handle, resolved.take_error());
    request.op = resolved->op;
    request.scalar = resolved->scalar;
  }
  return submit(std::move(request), handle, stream);
}

// Copies tables of one entry per rank. A NULL table is an error.
Status copy_tables(gyreComm_t handle,
                   std::initializer_list<std::pair<const std::size_t*, std::vector<std::size_t>*>> tables) {
  if (!is_alive(handle))
    return error(Code::invalid_argument, "the communicator is NULL or destroyed");
  GYRE_TRY(check_ready(handle));
  const auto n = static_cast<std::size_t>(handle->comm->size());
  for (const auto& [from, to] : tables) {
    if (!from) return error(Code::invalid_argument, "a table of counts or offsets is NULL");
    to->assign(from, from + n);
  }
  return {};
}

}  // namespace

}  // namespace gyre

using gyre::Collective;
using gyre::Request;

gyreResult_t gyreAllReduce(const void* send, void* recv, size_t count, gyreDataType_t type,
                           gyreRedOp_t op, gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit_typed({.what = Collective::all_reduce, .send = send, .recv = recv, .count = count},
                            type, comm, stream, &op);
}

gyreResult_t gyreBroadcast(const void* send, void* recv, size_t count, gyreDataType_t type, int root,
                           gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit_typed(
      {.what = Collective::broadcast, .send = send, .recv = recv, .count = count, .root = root}, type,
      comm, stream);
}

gyreResult_t gyreBcast(void* buffer, size_t count, gyreDataType_t type, int root, gyreComm_t comm,
                       gyreStream_t stream) {
  return gyreBroadcast(buffer, buffer, count, type, root, comm, stream);
}

gyreResult_t gyreReduce(const void* send, void* recv, size_t count, gyreDataType_t type,
                        gyreRedOp_t op, int root, gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit_typed(
      {.what = Collective::reduce, .send = send, .recv = recv, .count = count, .root = root}, type,
      comm, stream, &op);
}

gyreResult_t gyreAllGather(const void* send, void* recv, size_t count, gyreDataType_t type,
                           gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit_typed({.what = Collective::all_gather, .send = send, .recv = recv, .count = count},
                            type, comm, stream);
}

gyreResult_t gyreReduceScatter(const void* send, void* recv, size_t count, gyreDataType_t type,
                               gyreRedOp_t op, gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit_typed(
      {.what = Collective::reduce_scatter, .send = send, .recv = recv, .count = count}, type, comm,
      stream, &op);
}

gyreResult_t gyreAlltoAll(const void* send, void* recv, size_t count, gyreDataType_t type,
                          gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit_typed({.what = Collective::all_to_all, .send = send, .recv = recv, .count = count},
                            type, comm, stream);
}

gyreResult_t gyreGather(const void* send, void* recv, size_t count, gyreDataType_t type, int root,
                        gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit_typed(
      {.what = Collective::gather, .send = send, .recv = recv, .count = count, .root = root}, type, comm,
      stream);
}

gyreResult_t gyreScatter(const void* send, void* recv, size_t count, gyreDataType_t type, int root,
                         gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit_typed(
      {.what = Collective::scatter, .send = send, .recv = recv, .count = count, .root = root}, type,
      comm, stream);
}

gyreResult_t gyreAllGatherV(const void* send, void* recv, const size_t* counts, const size_t* offsets,
                            gyreDataType_t type, gyreComm_t comm, gyreStream_t stream) {
  auto tables = std::make_shared<gyre::Uneven>();
  gyre::Status status = gyre::copy_tables(
      comm, {{counts, &tables->send_counts}, {offsets, &tables->send_offsets}});
  if (!status) return gyre::answer(nullptr, status);
  return gyre::submit_typed(
      {.what = Collective::all_gather_v, .send = send, .recv = recv, .uneven = tables}, type, comm,
      stream);
}

gyreResult_t gyreReduceScatterV(const void* send, void* recv, const size_t* counts,
                                const size_t* offsets, gyreDataType_t type, gyreRedOp_t op,
                                gyreComm_t comm, gyreStream_t stream) {
  auto tables = std::make_shared<gyre::Uneven>();
  gyre::Status status = gyre::copy_tables(
      comm, {{counts, &tables->send_counts}, {offsets, &tables->send_offsets}});
  if (!status) return gyre::answer(nullptr, status);
  return gyre::submit_typed(
      {.what = Collective::reduce_scatter_v, .send = send, .recv = recv, .uneven = tables}, type, comm,
      stream, &op);
}

gyreResult_t gyreAlltoAllV(const void* send, const size_t* send_counts, const size_t* send_offsets,
                           void* recv, const size_t* recv_counts, const size_t* recv_offsets,
                           gyreDataType_t type, gyreComm_t comm, gyreStream_t stream) {
  auto tables = std::make_shared<gyre::Uneven>();
  gyre::Status status = gyre::copy_tables(comm, {{send_counts, &tables->send_counts},
                                                 {send_offsets, &tables->send_offsets},
                                                 {recv_counts, &tables->recv_counts},
                                                 {recv_offsets, &tables->recv_offsets}});
  if (!status) return gyre::answer(nullptr, status);
  return gyre::submit_typed(
      {.what = Collective::all_to_all_v, .send = send, .recv = recv, .uneven = tables}, type, comm,
      stream);
}

gyreResult_t gyreBarrier(gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit({.what = Collective::barrier}, comm, stream);
}

gyreResult_t gyreSend(const void* send, size_t count, gyreDataType_t type, int peer, gyreComm_t comm,
                      gyreStream_t stream) {
  return gyre::submit_typed({.what = Collective::send, .send = send, .count = count, .root = peer}, type,
                            comm, stream);
}

gyreResult_t gyreRecv(void* recv, size_t count, gyreDataType_t type, int peer, gyreComm_t comm,
                      gyreStream_t stream) {
  return gyre::submit_typed({.what = Collective::recv, .recv = recv, .count = count, .root = peer}, type,
                            comm, stream);
}

gyreResult_t gyreRedOpCreatePreMulSum(gyreRedOp_t* op, void* scalar, gyreDataType_t type,
                                      gyreScalarResidence_t residence, gyreComm_t comm) {
  using namespace gyre;
  if (!is_alive(comm)) return answer(nullptr, error(Code::invalid_argument, "the communicator is NULL or destroyed"));
  auto known = to_type(type);
  if (!known) return answer(comm, known.take_error());
  if (!op || !scalar)
    return answer(comm, error(Code::invalid_argument, "pre-multiplied sum needs an op and a scalar"));
  if (!is_defined(Op::premul_sum, *known))
    return answer(comm, error(Code::invalid_argument, "pre-multiplied sum is not defined for {}",
                              to_text(*known)));
  if (residence != gyreScalarDevice && residence != gyreScalarHostImmediate)
    return answer(comm, error(Code::invalid_argument, "residence {} does not exist",
                              static_cast<int>(residence)));
  PremulScalar stored{.type = *known};
  if (residence == gyreScalarHostImmediate)
    std::memcpy(stored.value.data(), scalar, size_of(*known));
  else
    stored.pointer = scalar;
  std::lock_guard lock(comm->mutex);
  const int number = premul_handle(comm->serial, comm->next_operator++);
  comm->operators[number] = stored;
  *op = static_cast<gyreRedOp_t>(number);
  return gyreSuccess;
}

gyreResult_t gyreRedOpDestroy(gyreRedOp_t op, gyreComm_t comm) {
  using namespace gyre;
  if (!is_alive(comm)) return answer(nullptr, error(Code::invalid_argument, "the communicator is NULL or destroyed"));
  std::unique_lock lock(comm->mutex);
  if (comm->operators.erase(static_cast<int>(op)) == 1) return gyreSuccess;
  lock.unlock();
  return answer(comm, error(Code::invalid_argument, "reduction handle {} was not made on this communicator, or was destroyed",
                            static_cast<int>(op)));
}
