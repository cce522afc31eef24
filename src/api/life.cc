// Life of a communicator in the public API: ids, init, children, end, state.
#include <algorithm>
#include <cstring>

#include "api/arguments.h"
#include "api/group.h"
#include "base/log.h"
#include "base/param.h"
#include "core/launcher.h"

namespace gyre {

namespace {

constexpr unsigned kConfigMagic = 0x67797265u;

// The caller's config over the knobs. An older caller's struct is shorter: what it lacks is default.
Result<CommOptions> options_of(const gyreConfig_t* config, bool* blocking) {
  CommOptions options = default_options();
  *blocking = true;
  if (!config) return options;
  if (config->magic != kConfigMagic || config->size < offsetof(gyreConfig_t, blocking) ||
      config->size > 4096)
    return error(Code::invalid_argument, "the config was not made with GYRE_CONFIG_INITIALIZER");
  gyreConfig_t full = GYRE_CONFIG_INITIALIZER;
  std::memcpy(&full, config, std::min(config->size, sizeof full));
  auto set = [](int value) { return value != GYRE_CONFIG_UNDEF_INT; };
  if (set(full.blocking)) *blocking = full.blocking != 0;
  if (set(full.bufferBytes)) options.slot_bytes = static_cast<std::uint32_t>(std::max(full.bufferBytes, 0));
  if (set(full.timeoutMs)) options.timeout = static_cast<Nanos>(std::max(full.timeoutMs, 0)) * 1'000'000;
  if (set(full.initTimeoutMs))
    options.init_timeout = static_cast<Nanos>(std::max(full.initTimeoutMs, 0)) * 1'000'000;
  if (set(full.deterministic)) options.deterministic = full.deterministic != 0;
  if (full.commName) options.name = full.commName;
  if (full.netName) options.transport = full.netName;  // judged where all settings are
  return options;
}

// Makes the communicator and settles the handle's state.
Status start(gyreComm* handle, const std::vector<JobId>& ids, int rank, int size,
             const CommOptions& options) {
  auto comm = Communicator::join(ids, rank, size, options, handle->stop_init);
  if (!comm) {
    Error why = comm.take_error().context(fmt::format("making a communicator, rank {} of {}", rank, size));
    {
      std::lock_guard lock(handle->mutex);
      handle->init_code = why.code;
      handle->last_error = why.text;
    }
    handle->state = HandleState::failed;
    return why;
  }
  handle->comm = *std::move(comm);
  handle->state = HandleState::ready;
  return {};
}

void discard(gyreComm* handle) {
  if (handle->starter.joinable()) handle->starter.join();
  handle->worker.reset();
  recycle_handle(handle);
}

gyreResult_t init(gyreComm_t* out, int size, const gyreUniqueId* ids, int id_count, int rank,
                  const gyreConfig_t* config) {
  if (!out) return answer(nullptr, error(Code::invalid_argument, "the place for the communicator is NULL"));
  *out = nullptr;
  if (size < 1 || rank < 0 || rank >= size)
    return answer(nullptr, error(Code::invalid_argument, "rank {} of {} ranks is not possible", rank, size));
  std::vector<JobId> jobs;
  for (int i = 0; i < id_count; ++i) {
    auto job = unpack_job_id(std::as_bytes(std::span<const char, kJobIdBytes>(ids[i].internal)));
    if (!job) return answer(nullptr, job.take_error());
    jobs.push_back(*job);
  }
  bool blocking = true;
  auto options = options_of(config, &blocking);
  if (!options) return answer(nullptr, options.take_error());
  gyreComm* handle = take_handle();
  if (in_group()) {
    *out = handle;
    group_add_init([=, options = *options] {
      Status status = start(handle, jobs, rank, size, options);
      if (status) return status;
      *out = nullptr;
      (void)answer(nullptr, status);
      discard(handle);
      return status;
    });
    return gyreSuccess;
  }
  if (!blocking) {
    handle->starter = std::thread([=, options = *options] { (void)start(handle, jobs, rank, size, options); });
    *out = handle;
    return gyreInProgress;
  }
  Status status = start(handle, jobs, rank, size, *options);
  if (!status) {
    discard(handle);
    return answer(nullptr, status);
  }
  *out = handle;
  return gyreSuccess;
}

// Checks a handle for the calls below; `what` names the call.
Status alive(gyreComm_t comm, const char* what) {
  if (is_alive(comm)) return {};
  return error(Code::invalid_argument, "{}: the communicator is NULL or destroyed", what);
}

// Wraps a child as a handle; a null child gives NULL.
gyreComm_t adopt(std::unique_ptr<Communicator> child) {
  if (!child) return nullptr;
  gyreComm* handle = take_handle();
  handle->comm = std::move(child);
  handle->state = HandleState::ready;
  return handle;
}

// Waits until nobody else is inside a call; stopped calls leave within milliseconds.
void wait_alone(gyreComm* handle) {
  while (handle->users.load() > 0) {
    const timespec pause{0, 200'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

}  // namespace gyre

using namespace gyre;

gyreResult_t gyreGetVersion(int* version) {
  if (!version) return answer(nullptr, error(Code::invalid_argument, "the place for the version is NULL"));
  *version = GYRE_VERSION_CODE;
  return gyreSuccess;
}

const char* gyreGetErrorString(gyreResult_t result) { return to_text(static_cast<Code>(result)); }

const char* gyreGetLastError(gyreComm_t comm) {
  if (!is_alive(comm)) return last_error_of_thread();
  std::lock_guard lock(comm->mutex);
  return comm->last_error.c_str();
}

gyreResult_t gyreGetUniqueId(gyreUniqueId* id) {
  if (!id) return answer(nullptr, error(Code::invalid_argument, "the place for the id is NULL"));
  Status sound = check_params();
  if (!sound) return answer(nullptr, sound);
  auto job = start_job();
  if (!job) return answer(nullptr, job.take_error());
  const auto bytes = pack(*job);
  std::memcpy(id->internal, bytes.data(), bytes.size());
  return gyreSuccess;
}

gyreResult_t gyreCommInitRank(gyreComm_t* comm, int size, gyreUniqueId id, int rank) {
  return init(comm, size, &id, 1, rank, nullptr);
}

gyreResult_t gyreCommInitRankConfig(gyreComm_t* comm, int size, gyreUniqueId id, int rank,
                                    gyreConfig_t* config) {
  return init(comm, size, &id, 1, rank, config);
}

gyreResult_t gyreCommInitRankScalable(gyreComm_t* comm, int size, int rank, int id_count,
                                      gyreUniqueId* ids, gyreConfig_t* config) {
  if (!ids || id_count < 1 || id_count > size)
    return answer(nullptr, error(Code::invalid_argument, "{} ids for {} ranks are not possible", id_count, size));
  return init(comm, size, ids, id_count, rank, config);
}

gyreResult_t gyreCommInitAll(gyreComm_t* comms, int count, const int* devices) {
  if (!comms || count < 1)
    return answer(nullptr, error(Code::invalid_argument, "{} communicators are not possible", count));
  for (int i = 0; devices && i < count; ++i)
    if (devices[i] >= 0)
      return answer(nullptr, error(Code::invalid_argument,
                                   "device {} asked for, but this build drives host memory alone (-1)", devices[i]));
  gyreUniqueId id;
  gyreResult_t result = gyreGetUniqueId(&id);
  if (result != gyreSuccess) return result;
  group_start();
  for (int i = 0; i < count && result == gyreSuccess; ++i) result = gyreCommInitRank(&comms[i], count, id, i);
  Status status = group_end();
  if (result == gyreSuccess && status) return gyreSuccess;
  for (int i = 0; i < count; ++i) {
    if (comms[i]) discard(comms[i]);
    comms[i] = nullptr;
  }
  return result != gyreSuccess ? result : answer(nullptr, status);
}

gyreResult_t gyreCommInitFromEnv(gyreComm_t* comm, gyreConfig_t* config) {
  if (!comm) return answer(nullptr, error(Code::invalid_argument, "the place for the communicator is NULL"));
  *comm = nullptr;
  auto launch = detect_launcher();
  if (!launch) return answer(nullptr, launch.take_error());
  bool blocking = true;
  auto options = options_of(config, &blocking);
  if (!options) return answer(nullptr, options.take_error());
  GYRE_LOG(info, "launcher {} rank {} of {}", launch->source, launch->rank, launch->size);
  auto invitation = meet(*launch, deadline_in(options->init_timeout));
  if (!invitation) return answer(nullptr, invitation.take_error());
  gyreComm* handle = take_handle();
  Status status = start(handle, {invitation->id}, launch->rank, launch->size, *options);
  if (!status) {
    discard(handle);
    return answer(nullptr, status);
  }
  *comm = handle;
  return gyreSuccess;
}

gyreResult_t gyreCommSplit(gyreComm_t comm, int color, int key, gyreComm_t* child, gyreConfig_t* config) {
  Status sound = alive(comm, "split");
  if (!sound) return answer(nullptr, sound);
  if (!child || (color < 0 && color != GYRE_SPLIT_NOCOLOR))
    return answer(comm, error(Code::invalid_argument, "split with color {} or no place for the child", color));
  *child = nullptr;
  Use use(comm);
  sound = check_ready(comm);
  if (!sound) return answer(comm, sound);
  bool blocking = true;
  auto options = options_of(config, &blocking);
  if (!options) return answer(comm, options.take_error());
  std::lock_guard lock(comm->comm->mutex());
  if (!config) options = comm->comm->options();
  auto made = comm->comm->split(color, key, *options);
  if (!made) return answer(comm, made.take_error().context("splitting a communicator"));
  *child = adopt(*std::move(made));
  return gyreSuccess;
}

gyreResult_t gyreCommShrink(gyreComm_t comm, int* exclude, int exclude_count, gyreComm_t* child,
                            gyreConfig_t* config, int flags) {
  Status sound = alive(comm, "shrink");
  if (!sound) return answer(nullptr, sound);
  if (!child || exclude_count < 0 || (exclude_count > 0 && !exclude))
    return answer(comm, error(Code::invalid_argument, "shrink without a list or a place for the child"));
  *child = nullptr;
  Use use(comm);
  sound = check_ready(comm);
  if (!sound) return answer(comm, sound);
  bool blocking = true;
  auto options = options_of(config, &blocking);
  if (!options) return answer(comm, options.take_error());
  if (flags & GYRE_SHRINK_ABORT)
    comm->comm->stop(error(Code::aborted, "rank {} is shrinking its communicator", comm->comm->rank()));
  std::lock_guard lock(comm->comm->mutex());
  if (!config) options = comm->comm->options();
  auto made = comm->comm->shrink({exclude, static_cast<std::size_t>(exclude_count)}, *options);
  if (!made) return answer(comm, made.take_error().context("shrinking a communicator"));
  *child = adopt(*std::move(made));
  return gyreSuccess;
}

gyreResult_t gyreCommFinalize(gyreComm_t comm) {
  Status sound = alive(comm, "finalize");
  if (!sound) return answer(nullptr, sound);
  Use use(comm);
  sound = check_ready(comm);
  if (!sound) return answer(comm, sound);
  // Operations in the calling thread are done on return; streams hold the mutex while they run.
  std::lock_guard lock(comm->comm->mutex());
  comm->state = HandleState::finalized;
  return gyreSuccess;
}

gyreResult_t gyreCommDestroy(gyreComm_t comm) {
  Status sound = alive(comm, "destroy");
  if (!sound) return answer(nullptr, sound);
  comm->stop_init = true;
  wait_alone(comm);
  discard(comm);
  return gyreSuccess;
}

gyreResult_t gyreCommAbort(gyreComm_t comm) {
  Status sound = alive(comm, "abort");
  if (!sound) return answer(nullptr, sound);
  comm->stop_init = true;
  if (comm->starter.joinable()) comm->starter.join();
  if (comm->comm) {
    comm->comm->abandon(error(Code::aborted, "rank {} aborted the communicator", comm->comm->rank())
                            .blame(comm->comm->rank()));
    wait_alone(comm);
  }
  discard(comm);
  return gyreSuccess;
}

gyreResult_t gyreCommRevoke(gyreComm_t comm, int flags) {
  Status sound = alive(comm, "revoke");
  if (!sound) return answer(nullptr, sound);
  if (flags != 0) return answer(comm, error(Code::invalid_argument, "revoke takes no flags, not {}", flags));
  Use use(comm);
  sound = check_ready(comm);
  if (!sound) return answer(comm, sound);
  comm->comm->abandon(error(Code::aborted, "rank {} revoked the communicator", comm->comm->rank())
                          .blame(comm->comm->rank()));
  return gyreSuccess;
}

gyreResult_t gyreCommGetAsyncError(gyreComm_t comm, gyreResult_t* state) {
  Status sound = alive(comm, "get async error");
  if (!sound) return answer(nullptr, sound);
  if (!state) return answer(comm, error(Code::invalid_argument, "the place for the state is NULL"));
  Use use(comm);
  switch (comm->state.load()) {
    case HandleState::starting: *state = gyreInProgress; return gyreSuccess;
    case HandleState::failed: *state = static_cast<gyreResult_t>(comm->init_code); return gyreSuccess;
    default: break;
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
  Status sound = alive(comm, "count");
  if (sound) sound = check_ready(comm);
  if (sound && !count) sound = error(Code::invalid_argument, "the place for the count is NULL");
  if (!sound) return answer(nullptr, sound);
  *count = comm->comm->size();
  return gyreSuccess;
}

gyreResult_t gyreCommUserRank(gyreComm_t comm, int* rank) {
  Status sound = alive(comm, "user rank");
  if (sound) sound = check_ready(comm);
  if (sound && !rank) sound = error(Code::invalid_argument, "the place for the rank is NULL");
  if (!sound) return answer(nullptr, sound);
  *rank = comm->comm->rank();
  return gyreSuccess;
}

gyreResult_t gyreCommDevice(gyreComm_t comm, int* device) {
  Status sound = alive(comm, "device");
  if (sound && !device) sound = error(Code::invalid_argument, "the place for the device is NULL");
  if (!sound) return answer(nullptr, sound);
  *device = -1;
  return gyreSuccess;
}
