#include "topology/detect.h"

#include <hwloc.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

namespace gyre {

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kNvidia = 0x10de, kAmd = 0x1002;

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

Result<Topology> load(const DetectOptions& options) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return error(Code::system, "hwloc does not start");
  Topology topology(raw, hwloc_topology_destroy);
  const std::string &xml = options.hwloc_xml, &synthetic = options.hwloc_synthetic;
  if (!xml.empty() &&
      hwloc_topology_set_xmlbuffer(raw, xml.c_str(), static_cast<int>(xml.size()) + 1) != 0)
    return error(Code::invalid_argument, "hwloc does not read its XML");
  if (!synthetic.empty() && hwloc_topology_set_synthetic(raw, synthetic.c_str()) != 0)
    return error(Code::invalid_argument, "hwloc does not read '{}'", synthetic);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) return error(Code::system, "hwloc finds no topology");
  return topology;
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// What stands at the beginning of the file as a number; 0 when there is none.
double number_in(const fs::path& path) {
  const std::string line = first_line(path);
  double value = 0;
  const auto read = std::from_chars(line.data(), line.data() + line.size(), value);
  return read.ec == std::errc() && value > 0 ? value : 0;
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code hidden;
  for (fs::directory_iterator at(folder, hidden), end; !hidden && at != end; at.increment(hidden))
    entries.push_back(at->path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

// "506b:4b03:00cb:f1a2", as the kernel prints a GUID.
std::uint64_t guid_in(const fs::path& path) {
  std::string digits = first_line(path);
  std::erase(digits, ':');
  std::uint64_t guid = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), guid, 16);
  return guid;
}

bool is_up(const fs::path& interface) {
  const std::string flags = first_line(interface / "flags");  // hexadecimal, the lowest bit is it
  return (std::strtoul(flags.c_str(), nullptr, 16) & 1) != 0;
}

int speed_mbps(double mbps) { return static_cast<int>(std::clamp(mbps, 0.0, 1e9)); }

class Detector {
 public:
  Detector(const DetectOptions& options, hwloc_topology_t topology)
      : sysfs_(options.sysfs), topology_(topology) {}

  Result<DescribedMachine> run() && {
    std::vector<hwloc_obj_t> numas;
    for (hwloc_obj_t numa = nullptr;
         (numa = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, numa)) != nullptr;)
      numas.push_back(numa);
    for (const hwloc_obj_t numa : numas) {
      const int cpu = add(-1, {}, cpu_of(numa));
      for (hwloc_obj_t bridge = nullptr;
           (bridge = hwloc_get_next_bridge(topology_, bridge)) != nullptr;)
        if (bridge->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST &&
            home_of(bridge, numas) == numa)
          add_below(bridge, cpu);
    }
    DescribedMachine described;
    if (nics_ == 0) described.warnings.push_back(add_interfaces());
    MachineBuilder builder;
    builder.add(HostKind(std::move(nodes_)));
    described.machine = GYRE_TRY(std::move(builder).build());
    return described;
  }

 private:
  int add(int parent, PciSlot slot, Device device) {
    nodes_.push_back({parent, std::move(slot), std::move(device)});
    return static_cast<int>(nodes_.size()) - 1;
  }

  // The NUMA node that a host bridge belongs to; the first when the machine does not tell.
  hwloc_obj_t home_of(hwloc_obj_t bridge, const std::vector<hwloc_obj_t>& numas) const {
    const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology_, bridge);
    for (const hwloc_obj_t numa : numas)
      if (place != nullptr && hwloc_bitmap_isset(place->nodeset, numa->os_index)) return numa;
    return numas.front();
  }

  static Cpu cpu_of(hwloc_obj_t numa) {
    Cpu cpu;
    cpu.numa = static_cast<int>(numa->os_index);
    utsname system{};
    if (::uname(&system) == 0) cpu.arch = system.machine;
    if (cpu.arch == "aarch64") cpu.arch = "arm64";
    if (cpu.arch == "ppc64le") cpu.arch = "ppc64";
    char* mask = nullptr;
    if (hwloc_bitmap_taskset_asprintf(&mask, numa->cpuset) >= 0) cpu.affinity = mask;
    std::free(mask);
    for (hwloc_obj_t above = numa; above != nullptr; above = above->parent) {
      const char* vendor = hwloc_obj_get_info_by_name(above, "CPUVendor");
      if (vendor == nullptr) continue;
      cpu.vendor = vendor;
      const auto whole = [&](const char* name) {
        const char* text = hwloc_obj_get_info_by_name(above, name);
        return text == nullptr ? -1 : std::atoi(text);
      };
      cpu.family = whole("CPUFamilyNumber");
      cpu.model = whole("CPUModelNumber");
      break;
    }
    return cpu;
  }

  PciSlot slot_of(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) const {
    PciSlot slot;
    slot.busid = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
    slot.device_class = std::uint32_t{pci.class_id} << 8;
    slot.vendor = pci.vendor_id;
    slot.device = pci.device_id;
    slot.subsystem_vendor = pci.subvendor_id;
    slot.subsystem_device = pci.subdevice_id;
    const fs::path folder = folder_of(slot);
    slot.link_gts = number_in(folder / "max_link_speed");
    const double lanes = number_in(folder / "max_link_width");
    slot.link_width = lanes <= kPciLanesMax ? static_cast<int>(lanes) : 0;
    return slot;
  }

  fs::path folder_of(const PciSlot& slot) const { return sysfs_ / "bus/pci/devices" / slot.busid; }

  void add_below(hwloc_obj_t bridge, int parent) {
    for (hwloc_obj_t child = bridge->io_first_child; child != nullptr;
         child = child->next_sibling) {
      if (child->type == HWLOC_OBJ_PCI_DEVICE) add_device(slot_of(child->attr->pcidev), parent);
      if (child->type != HWLOC_OBJ_BRIDGE) continue;
      const int index = add(parent, slot_of(child->attr->bridge.upstream.pci), Bridge{});
      add_below(child, index);
      if (nodes_.size() == static_cast<std::size_t>(index) + 1) nodes_.pop_back();
    }
  }

  void add_device(PciSlot slot, int parent) {
    const bool gpu_vendor = slot.vendor == kNvidia || slot.vendor == kAmd;
    if (is_gpu_class(slot.device_class) && gpu_vendor) {
      add(parent, std::move(slot), Gpu{});
    } else if (slot.device_class == kNvSwitchClass && slot.vendor == kNvidia) {
      add(parent, std::move(slot), NvSwitch{});
    } else if (is_nic_class(slot.device_class)) {
      add_nic(std::move(slot), parent);
    }
  }

  void add_nic(PciSlot slot, int parent) {
    const fs::path folder = folder_of(slot);
    Nic nic;
    std::error_code absent;
    const fs::path physical = fs::read_symlink(folder / "physfn", absent);
    if (!absent) nic.physical = physical.filename();
    const int index = add(parent, std::move(slot), std::move(nic));
    const int before = ports_;
    ++nics_;
    for (const fs::path& adapter : sorted_entries(folder / "infiniband"))
      for (const fs::path& port : sorted_entries(adapter / "ports"))
        add_port(index, adapter, port.filename(), number_in(port / "rate") * 1000);
    // An RDMA port's Ethernet interface is the same port.
    if (ports_ > before) return;
    add_interfaces_in(folder / "net", index);
    for (const fs::path& below : sorted_entries(folder))
      if (below.filename().string().starts_with("virtio")) add_interfaces_in(below / "net", index);
  }

  void add_interfaces_in(const fs::path& folder, int nic) {
    for (const fs::path& interface : sorted_entries(folder))
      add_port(nic, interface, "0", number_in(interface / "speed"));
  }

  void add_port(int nic, const fs::path& device, const std::string& number, double mbps) {
    NicPort port;
    port.name = device.filename();
    port.dev = ports_++;
    port.port = std::atoi(number.c_str());
    port.speed_mbps = speed_mbps(mbps);
    port.guid = guid_in(device / "node_guid");
    add(nic, {}, std::move(port));
  }

  // Interfaces that no PCI device carries. They go behind the first CPU's other devices.
  std::string add_interfaces() {
    std::vector<Node> rest;
    auto second = std::find_if(nodes_.begin() + 1, nodes_.end(),
                               [](const Node& node) { return node.kind() == NodeKind::cpu; });
    rest.assign(std::make_move_iterator(second), std::make_move_iterator(nodes_.end()));
    nodes_.erase(second, nodes_.end());
    const int before = static_cast<int>(nodes_.size());
    for (const fs::path& interface : sorted_entries(sysfs_ / "class/net")) {
      if (interface.filename() == "lo" || !is_up(interface)) continue;
      add_port(add(0, {}, Nic{}), interface, "0", number_in(interface / "speed"));
    }
    const int added = static_cast<int>(nodes_.size()) - before;
    for (Node& node : rest) {
      if (node.parent >= before) node.parent += added;
      nodes_.push_back(std::move(node));
    }
    return fmt::format("no NIC is visible on PCIe; {} network interfaces stand on the first CPU",
                       added / 2);
  }

  fs::path sysfs_;
  hwloc_topology_t topology_;
  std::vector<Node> nodes_;
  int nics_ = 0, ports_ = 0;  // NICs on PCIe; ports of any
};

}  // namespace

Result<DescribedMachine> detect(const DetectOptions& options) {
  const Topology topology = GYRE_TRY(load(options));
  return Detector(options, topology.get()).run();
}

}  // namespace gyre
