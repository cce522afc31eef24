// How communicators come to be in the public API: ids and the inits. Knows groups and inits without
// blocking.
#include <algorithm>
#include <cstring>

#include "api/group.h"
#include "api/life.h"
#include "base/log.h"
#include "base/param.h"
#include "base/thread.h"
#include "core/launcher.h"

namespace gyre {

namespace {

constexpr unsigned kConfigMagic = 0x67797265u;

// Makes the communicator and settles the handle's state, unless somebody has closed it meanwhile.
Status start(gyreComm* handle, const std::vector<JobId>& ids, int rank, int size,
             const CommOptions& options) {
  Use use(handle);
  HandleState expected = HandleState::starting;
  if (handle->state.load() != expected)
    return error(Code::aborted, "rank {} was destroyed before its init", rank);
  auto comm = Communicator::join(ids, rank, size, options, handle->stop_init);
  if (comm) {
    handle->comm = *std::move(comm);
    handle->state.compare_exchange_strong(expected, HandleState::ready);
    return {};
  }
  Error why = comm.take_error().context("making a communicator");
  {
    std::lock_guard lock(handle->mutex);
    handle->last_error = why.text;
    handle->init_failure = why;
  }
  handle->state.compare_exchange_strong(expected, HandleState::failed);
  return why;
}

Result<std::vector<JobId>> jobs_of(const gyreUniqueId* ids, int count) {
  std::vector<JobId> out;
  for (int i = 0; i < count; ++i)
    out.push_back(GYRE_TRY(
        unpack_job_id(std::as_bytes(std::span<const char, kJobIdBytes>(ids[i].internal)))));
  return out;
}

gyreResult_t init(gyreComm_t* out, int size, const gyreUniqueId* ids, int id_count, int rank,
                  const gyreConfig_t* config) {
  if (!out)
    return answer(nullptr, error(Code::invalid_argument, "the place for the communicator is NULL"));
  *out = nullptr;
  if (size < 1 || rank < 0 || rank >= size)
    return answer(nullptr,
                  error(Code::invalid_argument, "rank {} of {} ranks is not possible", rank, size));
  auto jobs = jobs_of(ids, id_count);
  if (!jobs) return answer(nullptr, jobs.take_error());
  bool blocking = true;
  auto options = options_of(config, &blocking);
  if (!options) return answer(nullptr, options.take_error());
  gyreComm* handle = take_handle();
  auto undo = [=] {
    *out = nullptr;
    if (close_handle(handle)) discard(handle);
  };
  auto run = [=, jobs = *std::move(jobs), options = *std::move(options)] {
    return start(handle, jobs, rank, size, options);
  };
  if (in_group()) {
    *out = handle;
    auto run_or_undo = [=] {
      Status status = run();
      if (!status) undo();
      return status;
    };
    group_add_init({run_or_undo, undo});
    return gyreSuccess;
  }
  Status status;
  if (blocking) {
    status = run();
  } else {
    auto starter = start_thread("an init without blocking", [run] { (void)run(); });
    if (starter)
      handle->starter = *std::move(starter);
    else
      status = starter.take_error();
  }
  if (!status) {
    undo();
    return answer(nullptr, status);
  }
  *out = handle;
  return blocking ? gyreSuccess : gyreInProgress;
}

}  // namespace

// The caller's config over the knobs. An older caller's struct is shorter: what it lacks is
// default.
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
  for (const auto& [name, value] :
       {std::pair("bufferBytes", full.bufferBytes), std::pair("timeoutMs", full.timeoutMs),
        std::pair("initTimeoutMs", full.initTimeoutMs)})
    if (set(value) && value < 0)
      return error(Code::invalid_argument, "config: {} is {}, below 0", name, value);
  if (set(full.blocking)) *blocking = full.blocking != 0;
  if (set(full.bufferBytes)) options.slot_bytes = static_cast<std::uint32_t>(full.bufferBytes);
  if (set(full.timeoutMs)) options.timeout = static_cast<Nanos>(full.timeoutMs) * 1'000'000;
  if (set(full.initTimeoutMs))
    options.init_timeout = static_cast<Nanos>(full.initTimeoutMs) * 1'000'000;
  if (set(full.deterministic)) options.deterministic = full.deterministic != 0;
  if (full.commName) options.name = full.commName;
  if (full.netName) options.transport = full.netName;  // judged where all settings are
  return options;
}

}  // namespace gyre

using namespace gyre;

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
    return answer(nullptr, error(Code::invalid_argument, "{} ids for {} ranks are not possible",
                                 id_count, size));
  return init(comm, size, ids, id_count, rank, config);
}

gyreResult_t gyreCommInitAll(gyreComm_t* comms, int count, const int* devices) {
  if (!comms || count < 1)
    return answer(nullptr,
                  error(Code::invalid_argument, "{} communicators are not possible", count));
  for (int i = 0; devices && i < count; ++i)
    if (devices[i] >= 0)
      return answer(
          nullptr,
          error(Code::invalid_argument,
                "device {} asked for, but this build drives host memory alone (-1)", devices[i]));
  std::fill_n(comms, count, nullptr);
  gyreUniqueId id;
  gyreResult_t result = gyreGetUniqueId(&id);
  if (result != gyreSuccess) return result;
  group_start();
  for (int i = 0; i < count && result == gyreSuccess; ++i)
    result = gyreCommInitRank(&comms[i], count, id, i);
  Status status = group_end();
  if (result == gyreSuccess && status) return gyreSuccess;
  for (int i = 0; i < count; ++i) {
    if (comms[i] && close_handle(comms[i])) discard(comms[i]);
    comms[i] = nullptr;
  }
  return result != gyreSuccess ? result : answer(nullptr, status);
}

gyreResult_t gyreCommInitFromEnv(gyreComm_t* comm, gyreConfig_t* config) {
  if (!comm)
    return answer(nullptr, error(Code::invalid_argument, "the place for the communicator is NULL"));
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
  if (status)
    *comm = handle;
  else if (close_handle(handle))
    discard(handle);
  return answer(nullptr, status);
}
