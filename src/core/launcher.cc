#include "core/launcher.h"

#include "base/log.h"
#include "base/param.h"

#include <algorithm>
#include <charconv>

namespace gyre {

// Read through Environment below; declared so that `gyre env` and the check for typing slips know
// them.
GYRE_PARAM(rank, std::string, "", "this process's rank; with GYRE_SIZE, instead of a launcher");
GYRE_PARAM(size, std::string, "", "number of ranks; with GYRE_RANK");
GYRE_PARAM(local_rank, std::string, "", "rank among those on this host; with GYRE_RANK");
GYRE_PARAM(local_size, std::string, "", "number of ranks on this host; with GYRE_RANK");
GYRE_PARAM(root, std::string, "", "host:port where rank 0 is met, under any launcher");
GYRE_PARAM(unique_id, std::string, "", "a job's id as text, instead of GYRE_ROOT");
GYRE_PARAM(secret, std::string, "",
           "known to this job's ranks alone; protects meetings at a fixed address");

namespace {

class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  bool has(const char* name) const { return environment_(name) != nullptr; }
  std::string text(const char* name) const {
    const char* value = environment_(name);
    return value ? value : "";
  }
  // Fails when unset or not a whole number in [low, high].
  Result<int> number(const char* name, int low, int high) const {
    const char* value = environment_(name);
    if (!value) return error(Code::invalid_usage, "{} is not set", name);
    const std::string_view digits = value;
    int out = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    if (problem != std::errc() || end != digits.data() + digits.size() || out < low || out > high)
      return error(Code::invalid_usage, "{}='{}' is not valid: expected {}..{}", name, value, low,
                   high);
    return out;
  }

 private:
  const Environment& environment_;
};

constexpr int kRanksMax = 1 << 24;

// The variables in which one launcher says who this process is.
struct Names {
  const char *source, *rank, *size, *local_rank, *local_size;
};
constexpr Names kGyre{"gyre", "GYRE_RANK", "GYRE_SIZE", "GYRE_LOCAL_RANK", "GYRE_LOCAL_SIZE"};
constexpr Names kIndexed{"indexed job", "JOB_COMPLETION_INDEX", "GYRE_SIZE", "", ""};
constexpr Names kTorchrun{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names kOpenMpi{"open mpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                         "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names kMpich{"mpich", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
constexpr Names kSlurm{"slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""};

Status read_place(const Reader& env, const Names& names, Launch& launch) {
  launch.source = names.source;
  launch.size = GYRE_TRY(env.number(names.size, 1, kRanksMax));
  launch.rank = GYRE_TRY(env.number(names.rank, 0, launch.size - 1));
  if (env.has(names.local_size))
    launch.local_size = GYRE_TRY(env.number(names.local_size, 1, launch.size));
  if (env.has(names.local_rank))
    launch.local_rank = GYRE_TRY(env.number(names.local_rank, 0, launch.size - 1));
  return {};
}

// "node[03-05,9],other" -> "node03"
std::string first_host(std::string_view list) {
  const std::size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string_view::npos || comma < bracket)
    return std::string(list.substr(0, comma));
  const std::string_view inside = list.substr(bracket + 1);
  return std::string(list.substr(0, bracket)) +
         std::string(inside.substr(0, inside.find_first_of(",-]")));
}

Status read_torchrun(const Reader& env, Launch& launch) {
  GYRE_TRY(read_place(env, kTorchrun, launch));
  const int port = GYRE_TRY(env.number("MASTER_PORT", 1, 65535));
  launch.meet_by = MeetBy::fixed_address;
  launch.root_host = env.text("MASTER_ADDR");
  // The port itself belongs to torch's own store.
  launch.root_port = static_cast<std::uint16_t>(port < 65535 ? port + 1 : port - 1);
  // The count makes a restarted job a new one.
  launch.secret_text =
      fmt::format("torchrun {} {} {} {} {}", launch.root_host, port, launch.size,
                  env.text("TORCHELASTIC_RUN_ID"), env.text("TORCHELASTIC_RESTART_COUNT"));
  return {};
}

Status read_slurm(const Reader& env, Launch& launch) {
  Names names = kSlurm;
  if (!env.has(names.size)) names.size = "SLURM_NTASKS";
  GYRE_TRY(read_place(env, names, launch));
  const std::string nodes =
      env.text(env.has("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_NODELIST");
  if (launch.size > 1 && nodes.empty())
    return error(Code::invalid_usage,
                 "SLURM_STEP_NODELIST is not set, so the root's host is unknown");
  launch.meet_by = MeetBy::fixed_address;
  launch.root_host = first_host(nodes);
  launch.secret_text =
      fmt::format("slurm {} {}", env.text("SLURM_JOB_ID"), env.text("SLURM_STEP_ID"));
  // Below the ports that kernels hand out; different for the steps that share a host.
  const std::string_view label = "slurm port";
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(launch.secret_text.data());
  launch.root_port =
      static_cast<std::uint16_t>(20000 + hash64({bytes, launch.secret_text.size()}, label) % 12000);
  return {};
}

// Who we are, and how this launcher's processes would meet.
Status read_launcher(const Reader& env, Launch& launch) {
  if (env.has("GYRE_RANK")) return read_place(env, kGyre, launch);
  if (env.has("RANK") && env.has("WORLD_SIZE") && env.has("MASTER_ADDR"))
    return read_torchrun(env, launch);
  if (env.has("OMPI_COMM_WORLD_RANK")) {
    launch.meet_by = MeetBy::pmix;
    return read_place(env, kOpenMpi, launch);
  }
  const bool pmi_2 =
      env.text("SLURM_MPI_TYPE") == "pmi2";  // another language on the same descriptor
  if (env.has("PMI_FD") && !pmi_2) {
    launch.meet_by = MeetBy::pmi;
    launch.pmi_fd = GYRE_TRY(env.number("PMI_FD", 0, 1 << 20));
    return read_place(env, kMpich, launch);
  }
  // Without a step it is a batch script's own shell, not one of the tasks.
  if (env.has("SLURM_PROCID") && env.has("SLURM_STEP_ID")) {
    GYRE_TRY(read_slurm(env, launch));
    if (env.has("PMIX_RANK")) launch.meet_by = MeetBy::pmix;
    return {};
  }
  if (env.has("JOB_COMPLETION_INDEX") && env.has("GYRE_SIZE"))
    return read_place(env, kIndexed, launch);
  for (const char* half : {"GYRE_SIZE", "GYRE_ROOT"})
    if (env.has(half))
      return error(Code::invalid_usage, "{} is set, but neither GYRE_RANK nor a launcher's rank is",
                   half);
  launch.source = "alone";
  return {};
}

// GYRE_ROOT and GYRE_UNIQUE_ID overrule what the launcher offers.
Status read_meeting_point(const Reader& env, Launch& launch) {
  if (env.has("GYRE_UNIQUE_ID")) {
    launch.id = GYRE_TRY_WHILE(parse_job_id(env.text("GYRE_UNIQUE_ID")), "reading GYRE_UNIQUE_ID");
    launch.meet_by = MeetBy::given_id;
  } else if (env.has("GYRE_ROOT")) {
    const HostPort root =
        GYRE_TRY_WHILE(parse_host_port(env.text("GYRE_ROOT")), "reading GYRE_ROOT");
    if (root.port == 0)
      return error(Code::invalid_usage, "GYRE_ROOT='{}' has port 0", env.text("GYRE_ROOT"));
    launch.meet_by = MeetBy::fixed_address;
    launch.root_host = root.host;
    launch.root_port = root.port;
    launch.secret_text = fmt::format("root {} {}", env.text("GYRE_ROOT"), launch.size);
  }
  if (launch.size > 1 && launch.meet_by == MeetBy::nothing)
    return error(Code::invalid_usage,
                 "{} ranks by {}, but neither GYRE_ROOT (host:port of rank 0) nor "
                 "GYRE_UNIQUE_ID is set",
                 launch.size, launch.source);
  if (env.has("GYRE_SECRET")) launch.secret_text += " " + env.text("GYRE_SECRET");
  return {};
}

}  // namespace

Result<Launch> detect_launcher(const Environment& environment) {
  const Reader env(environment);
  Launch launch;
  GYRE_TRY_WHILE(read_launcher(env, launch), "reading the launcher's environment");
  GYRE_TRY(read_meeting_point(env, launch));
  if (launch.size == 1 && launch.meet_by != MeetBy::given_id) launch.meet_by = MeetBy::nothing;
  GYRE_LOG(info, "launched by {} as rank {} of {}", launch.source, launch.rank, launch.size);
  return launch;
}

Result<Launch> detect_launcher() {
  return detect_launcher([](const char* name) { return param_environment(name); });
}

}  // namespace gyre
