// The collectives of the public API: checks, then a request that runs now, in a group or on a
// stream.
#include "api/arguments.h"
#include "api/group.h"
#include "api/streams.h"

#include <cstring>

namespace gyre {

namespace {

// On a stream, when its turn comes.
Status perform_later(gyreComm* handle, const Request& request) {
  Use use(handle);
  GYRE_TRY(check_ready(handle, to_text(request.what)));
  std::lock_guard lock(handle->comm->mutex());
  Status status = handle->comm->run({&request, 1});
  if (!status) (void)answer(handle, status);
  return status;
}

// Fills in type and operator.
Status resolve(Request& request, gyreDataType_t type, gyreComm* handle, const gyreRedOp_t* op) {
  request.type = GYRE_TRY(to_type(type));
  if (!op) return {};
  const ResolvedOp resolved = GYRE_TRY(to_op(*op, request.type, handle));
  request.op = resolved.op;
  request.scalar = resolved.scalar;
  return {};
}

// Needs: a Use of `handle` by the caller.
Status perform(Request&& request, gyreDataType_t type, const gyreRedOp_t* op, gyreComm* handle,
               gyreStream_t stream) {
  GYRE_TRY(check_ready(handle, to_text(request.what)));
  GYRE_TRY(resolve(request, type, handle, op));
  Communicator& comm = *handle->comm;
  GYRE_TRY(check_request(request, comm.rank(), comm.size()));
  std::shared_ptr<HostStream> queue;
  if (stream) queue = GYRE_TRY(find_stream(stream));
  if (!is_point_to_point(request.what) && !is_uneven(request.what) && request.count == 0 &&
      request.what != Collective::barrier)
    return {};
  if (in_group()) {
    group_add({handle, std::move(request), std::move(queue)});
    return {};
  }
  if (queue) {
    queue->enqueue(
        [handle, request = std::move(request), queued = std::make_shared<Queued>(handle)] {
          return perform_later(handle, request);
        });
    return {};
  }
  std::lock_guard lock(comm.mutex());
  if (is_point_to_point(request.what)) return comm.run({&request, 1});
  return comm.run_one(request);
}

gyreResult_t submit(Request&& request, gyreDataType_t type, gyreComm_t handle, gyreStream_t stream,
                    const gyreRedOp_t* op = nullptr) {
  Use use(handle);
  return answer(handle, perform(std::move(request), type, op, handle, stream));
}

using Tables =
    std::initializer_list<std::pair<const std::size_t*, std::vector<std::size_t> Uneven::*>>;

// Copies tables of one entry per rank, then as submit(). A NULL table is an error.
gyreResult_t submit_uneven(Request&& request, const Tables& tables, gyreDataType_t type,
                           gyreComm_t handle, gyreStream_t stream,
                           const gyreRedOp_t* op = nullptr) {
  Use use(handle);
  Status sound = check_ready(handle, to_text(request.what));
  if (!sound) return answer(handle, sound);
  const auto n = static_cast<std::size_t>(handle->comm->size());
  auto copies = std::make_shared<Uneven>();
  for (const auto& [from, into] : tables) {
    if (!from)
      return answer(handle,
                    error(Code::invalid_argument, "{}: a table of counts or offsets is NULL",
                          to_text(request.what)));
    ((*copies).*into).assign(from, from + n);
  }
  request.uneven = std::move(copies);
  return submit(std::move(request), type, handle, stream, op);
}

}  // namespace

}  // namespace gyre

using gyre::Collective;
using gyre::Request;
using gyre::Uneven;

gyreResult_t gyreAllReduce(const void* send, void* recv, size_t count, gyreDataType_t type,
                           gyreRedOp_t op, gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit({.what = Collective::all_reduce, .send = send, .recv = recv, .count = count},
                      type, comm, stream, &op);
}

gyreResult_t gyreBroadcast(const void* send, void* recv, size_t count, gyreDataType_t type,
                           int root, gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit(
      {.what = Collective::broadcast, .send = send, .recv = recv, .count = count, .root = root},
      type, comm, stream);
}

gyreResult_t gyreBcast(void* buffer, size_t count, gyreDataType_t type, int root, gyreComm_t comm,
                       gyreStream_t stream) {
  return gyreBroadcast(buffer, buffer, count, type, root, comm, stream);
}

gyreResult_t gyreReduce(const void* send, void* recv, size_t count, gyreDataType_t type,
                        gyreRedOp_t op, int root, gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit(
      {.what = Collective::reduce, .send = send, .recv = recv, .count = count, .root = root}, type,
      comm, stream, &op);
}

gyreResult_t gyreAllGather(const void* send, void* recv, size_t count, gyreDataType_t type,
                           gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit({.what = Collective::all_gather, .send = send, .recv = recv, .count = count},
                      type, comm, stream);
}

gyreResult_t gyreReduceScatter(const void* send, void* recv, size_t count, gyreDataType_t type,
                               gyreRedOp_t op, gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit(
      {.what = Collective::reduce_scatter, .send = send, .recv = recv, .count = count}, type, comm,
      stream, &op);
}

gyreResult_t gyreAlltoAll(const void* send, void* recv, size_t count, gyreDataType_t type,
                          gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit({.what = Collective::all_to_all, .send = send, .recv = recv, .count = count},
                      type, comm, stream);
}

gyreResult_t gyreGather(const void* send, void* recv, size_t count, gyreDataType_t type, int root,
                        gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit(
      {.what = Collective::gather, .send = send, .recv = recv, .count = count, .root = root}, type,
      comm, stream);
}

gyreResult_t gyreScatter(const void* send, void* recv, size_t count, gyreDataType_t type, int root,
                         gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit(
      {.what = Collective::scatter, .send = send, .recv = recv, .count = count, .root = root}, type,
      comm, stream);
}

gyreResult_t gyreAllGatherV(const void* send, void* recv, const size_t* counts,
                            const size_t* offsets, gyreDataType_t type, gyreComm_t comm,
                            gyreStream_t stream) {
  return gyre::submit_uneven({.what = Collective::all_gather_v, .send = send, .recv = recv},
                             {{counts, &Uneven::send_counts}, {offsets, &Uneven::send_offsets}},
                             type, comm, stream);
}

gyreResult_t gyreReduceScatterV(const void* send, void* recv, const size_t* counts,
                                const size_t* offsets, gyreDataType_t type, gyreRedOp_t op,
                                gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit_uneven({.what = Collective::reduce_scatter_v, .send = send, .recv = recv},
                             {{counts, &Uneven::send_counts}, {offsets, &Uneven::send_offsets}},
                             type, comm, stream, &op);
}

gyreResult_t gyreAlltoAllV(const void* send, const size_t* send_counts, const size_t* send_offsets,
                           void* recv, const size_t* recv_counts, const size_t* recv_offsets,
                           gyreDataType_t type, gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit_uneven({.what = Collective::all_to_all_v, .send = send, .recv = recv},
                             {{send_counts, &Uneven::send_counts},
                              {send_offsets, &Uneven::send_offsets},
                              {recv_counts, &Uneven::recv_counts},
                              {recv_offsets, &Uneven::recv_offsets}},
                             type, comm, stream);
}

gyreResult_t gyreBarrier(gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit({.what = Collective::barrier}, gyreUint8, comm, stream);
}

gyreResult_t gyreSend(const void* send, size_t count, gyreDataType_t type, int peer,
                      gyreComm_t comm, gyreStream_t stream) {
  return gyre::submit({.what = Collective::send, .send = send, .count = count, .root = peer}, type,
                      comm, stream);
}

gyreResult_t gyreRecv(void* recv, size_t count, gyreDataType_t type, int peer, gyreComm_t comm,
                      gyreStream_t stream) {
  return gyre::submit({.what = Collective::recv, .recv = recv, .count = count, .root = peer}, type,
                      comm, stream);
}

gyreResult_t gyreRedOpCreatePreMulSum(gyreRedOp_t* op, void* scalar, gyreDataType_t type,
                                      gyreScalarResidence_t residence, gyreComm_t comm) {
  using namespace gyre;
  Use use(comm);
  Status sound = check_alive(comm, "pre-multiplied sum");
  if (!sound) return answer(comm, sound);
  auto known = to_type(type);
  if (!known) return answer(comm, known.take_error());
  if (!op || !scalar)
    return answer(comm,
                  error(Code::invalid_argument,
                        "pre-multiplied sum: the scalar or the place for the handle is NULL"));
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
  Use use(comm);
  Status sound = check_alive(comm, "destroying a reduction");
  if (!sound) return answer(comm, sound);
  std::unique_lock lock(comm->mutex);
  if (comm->operators.erase(static_cast<int>(op)) == 1) return gyreSuccess;
  lock.unlock();
  return answer(comm,
                error(Code::invalid_argument,
                      "reduction handle {} was not made on this communicator, or was destroyed",
                      static_cast<int>(op)));
}
