#include "topology/synth.h"

#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

namespace gyre {

namespace {

enum class NvShape { none, switched, mesh, pairs };

struct HostPlan {
  int gpus = 0, nics = 0, cpus = 0;
  double nic_gbps = 50;
  int generation = 5, sm = 90;
  NvShape shape = NvShape::none;
  int links = 1;
  double link_gbps = 0;
};

// Reads the line from left to right.
class Scanner {
 public:
  explicit Scanner(std::string_view line) : line_(line) {}

  void skip_spaces() {
    while (at_ < line_.size() && line_[at_] == ' ') ++at_;
  }
  bool at_end() const { return at_ == line_.size(); }
  bool at_digit() const { return !at_end() && line_[at_] >= '0' && line_[at_] <= '9'; }
  bool take(std::string_view word) {
    if (!line_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::size_t place() const { return at_; }
  void back_to(std::size_t place) { at_ = place; }

  Error expected(std::string_view what) const {
    return at_end() ? error(Code::invalid_argument, "column {}: expected {}, the line ends here",
                            at_ + 1, what)
                    : error(Code::invalid_argument, "column {}: expected {}, found '{:.12}'",
                            at_ + 1, what, line_.substr(at_));
  }

  Result<int> whole(int least, int most, std::string_view what) {
    int value = 0;
    const char* const begin = line_.data() + at_;
    const auto [end, problem] = std::from_chars(begin, line_.data() + line_.size(), value);
    if (problem != std::errc() || !at_digit() || value < least || value > most)
      return expected(fmt::format("{} from {} to {}", what, least, most));
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  // GB/s; resolved to one megabit per second, the unit of NIC speeds.
  Result<double> rate() {
    constexpr double kRateMax = 100000;
    double value = 0;
    const char* const begin = line_.data() + at_;
    const auto [end, problem] =
        std::from_chars(begin, line_.data() + line_.size(), value, std::chars_format::fixed);
    if (problem != std::errc() || !at_digit() || !(value >= 0.001 && value <= kRateMax))
      return expected(fmt::format("a rate in GB/s from 0.001 to {}", kRateMax));
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

 private:
  std::string_view line_;
  std::size_t at_ = 0;
};

Status read_nvlink(Scanner& in, HostPlan& plan) {
  if (in.take("nvs")) {
    plan.shape = NvShape::switched;
  } else if (in.take("mesh")) {
    plan.shape = NvShape::mesh;
  } else if (in.take("pairs")) {
    plan.shape = NvShape::pairs;
  } else {
    return in.expected("nvs, mesh or pairs");
  }
  const std::size_t start = in.place();
  const auto count = in.whole(1, 64, "a number of links");
  if (count && in.take("x")) {
    plan.links = *count;
  } else {
    in.back_to(start);
  }
  plan.link_gbps = GYRE_TRY(in.rate());
  return {};
}

Status read_counted(Scanner& in, HostPlan& plan) {
  const int count = GYRE_TRY(in.whole(1, kSynthDevicesMax, "a count"));
  if (in.take("gpu")) {
    if (plan.gpus > 0) return in.expected("GPUs only once");
    plan.gpus = count;
    return in.take("@") ? read_nvlink(in, plan) : Status();
  }
  if (in.take("nic")) {
    if (plan.nics > 0) return in.expected("NICs only once");
    plan.nics = count;
    if (in.take("@")) plan.nic_gbps = GYRE_TRY(in.rate());
    return {};
  }
  if (in.take("cpu")) {
    plan.cpus = count;
    return {};
  }
  return in.expected("gpu, nic or cpu after the count");
}

Status read_part(Scanner& in, HostPlan& plan) {
  if (in.take("pcie")) {
    plan.generation = GYRE_TRY(in.whole(1, 6, "a generation"));
  } else if (in.take("sm")) {
    plan.sm = GYRE_TRY(in.whole(10, 999, "a compute capability"));
  } else if (in.at_digit()) {
    return read_counted(in, plan);
  } else {
    return in.expected("a part such as 8gpu, 8nic, 2cpu, pcie5 or sm90");
  }
  return {};
}

// One host; what comes after its closing bracket stays.
Status read_parts(Scanner& in, HostPlan& plan, bool grouped) {
  do {
    in.skip_spaces();
    GYRE_TRY(read_part(in, plan));
    in.skip_spaces();
    if (grouped && in.take(")")) return {};
  } while (!in.at_end());
  return grouped ? in.expected("')'") : Status();
}

Status read_fabric(Scanner& in, Fabric& fabric, int& domain) {
  constexpr int kPortsMax = 1024;
  if (in.take("fat")) {
    fabric.kind = FabricKind::fat;
    fabric.down = GYRE_TRY(in.whole(1, kPortsMax, "ports down"));
    if (!in.take(":")) return in.expected("':'");
    fabric.up = GYRE_TRY(in.whole(1, kPortsMax, "ports up"));
  } else if (in.take("full")) {
    fabric.kind = FabricKind::full;
  } else if (in.take("rails")) {
    fabric.kind = FabricKind::rails;
  } else if (in.take("domain")) {
    domain = GYRE_TRY(in.whole(1, kHostsMax, "a number of hosts"));
  } else {
    return in.expected("fat, full, rails, domain or the end of the line");
  }
  return {};
}

// Lays a plan out as nodes.
class Layer {
 public:
  explicit Layer(const HostPlan& plan) : plan_(plan) {}

  std::vector<Node> nodes() && {
    int switches = std::gcd(plan_.gpus, plan_.nics);
    if (plan_.gpus == 0 || plan_.nics == 0 || switches % plan_.cpus != 0) switches = 0;
    for (int cpu = 0; cpu < plan_.cpus; ++cpu) {
      nodes_.push_back({-1, {}, Cpu{cpu, "x86_64", "GenuineIntel", 6, 143, {}}});
      const int root = last();
      if (cpu == 0 && plan_.shape == NvShape::switched)
        nodes_.push_back({root, slot(0x068000, kNvSwitchBus, 0), NvSwitch{}});
      const int groups = switches > 0 ? switches / plan_.cpus : 1;
      for (int i = 0; i < groups; ++i) {
        const int group = cpu * groups + i;
        if (switches > 0) nodes_.push_back({root, slot(0x060400, kSwitchBus, group), Bridge{}});
        add_devices(switches > 0 ? last() : root, group, groups * plan_.cpus);
      }
    }
    return std::move(nodes_);
  }

 private:
  static constexpr int kSwitchBus = 0x1, kGpuBus = 0x2, kNicBus = 0x3, kNvSwitchBus = 0x4;
  int last() const { return static_cast<int>(nodes_.size()) - 1; }

  // A PCI domain for each sort of device, a bus for each device.
  static std::string busid(int domain, int number) {
    return fmt::format("{:04x}:{:02x}:00.0", domain, number);
  }

  PciSlot slot(std::uint32_t device_class, int domain, int number) const {
    static constexpr std::array<double, 6> kRates = {2.5, 5, 8, 16, 32, 64};
    PciSlot slot;
    slot.busid = busid(domain, number);
    slot.device_class = device_class;
    slot.link_gts = kRates[static_cast<std::size_t>(plan_.generation - 1)];
    slot.link_width = 16;
    return slot;
  }

  void add_devices(int parent, int group, int groups) {
    for (int gpu = plan_.gpus * group / groups; gpu < plan_.gpus * (group + 1) / groups; ++gpu)
      nodes_.push_back({parent, slot(0x030200, kGpuBus, gpu), gpu_of(gpu)});
    for (int nic = plan_.nics * group / groups; nic < plan_.nics * (group + 1) / groups; ++nic) {
      nodes_.push_back({parent, slot(0x020700, kNicBus, nic), Nic{}});
      NicPort port;
      port.name = fmt::format("nic{}", nic);
      port.dev = port.rail = nic;
      port.port = 1;
      port.speed_mbps = static_cast<int>(std::lround(plan_.nic_gbps * 8000));
      port.gpu_direct = true;
      nodes_.push_back({last(), {}, port});
    }
  }

  Gpu gpu_of(int index) const {
    Gpu gpu;
    gpu.dev = index;
    gpu.sm = plan_.sm;
    gpu.gpu_direct = true;
    if (plan_.shape == NvShape::none) return gpu;
    gpu.nvlink_gbps = plan_.link_gbps;
    if (plan_.shape == NvShape::switched)
      gpu.nvlinks.push_back({busid(kNvSwitchBus, 0), plan_.links, 0x068000});
    for (int other = 0; other < plan_.gpus && plan_.shape != NvShape::switched; ++other) {
      const bool joined = plan_.shape == NvShape::mesh || other == (index ^ 1);
      if (joined && other != index)
        gpu.nvlinks.push_back({busid(kGpuBus, other), plan_.links, 0x030200});
    }
    return gpu;
  }

  const HostPlan& plan_;
  std::vector<Node> nodes_;
};

}  // namespace

Result<Machine> parse_synth(std::string_view line) {
  Scanner in(line);
  HostPlan plan;
  int hosts = 1, domain = 0;
  in.skip_spaces();
  if (in.at_digit() && line.find("x(") != std::string_view::npos) {
    hosts = GYRE_TRY(in.whole(1, kHostsMax, "a number of hosts"));
    if (!in.take("x")) return in.expected("x(");
  }
  const bool grouped = in.take("(");
  GYRE_TRY(read_parts(in, plan, grouped));
  Fabric fabric{.kind = hosts > 1 ? FabricKind::full : FabricKind::none};
  for (in.skip_spaces(); !in.at_end(); in.skip_spaces()) GYRE_TRY(read_fabric(in, fabric, domain));
  if (plan.cpus == 0) plan.cpus = plan.gpus >= 4 ? 2 : 1;
  MachineBuilder builder;
  builder.set(fabric);
  builder.add_many(HostKind(Layer(plan).nodes()), hosts, domain);
  return std::move(builder).build();
}

}  // namespace gyre
