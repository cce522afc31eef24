// Machine: what the hardware is, an immutable graph. Knows hosts, their devices and the links
// between them. Does not know files (xml), one-line descriptions (synth), ways between devices
// (paths), or what anyone does with them (policy).
//
// A host is a tree: CPUs (one per NUMA node) at the roots, PCIe bridges below, devices as leaves.
// NVLink, C2C and switch-to-switch links join nodes across the tree. Hosts that are alike share one
// HostKind: 10,000 GPUs in 1,250 equal hosts are one description and 1,250 small instances.
//
// Bandwidth is GB/s, 10^9 bytes per second, in one direction: what a copy reaches, not the raw
// rate.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace gyre {

// Bounds on what work and memory a description can ask for; any real machine is well below.
inline constexpr int kHostNodesMax = 65536;
inline constexpr int kHostGpusMax = 256;
inline constexpr int kHostEndsMax = 2048;  // GPUs, nets and CPUs: paths keep all pairs
inline constexpr int kHostsMax = 100000;
inline constexpr int kHostKindsMax = 10000;
inline constexpr int kPciLanesMax = 32;

struct Cpu {
  int numa = -1;
  std::string arch, vendor;     // as the kernel and cpuid spell them: x86_64, GenuineIntel
  int family = -1, model = -1;  // as written; see cpu_family()
  std::string affinity;         // the kernel's mask of cores
  bool operator==(const Cpu&) const = default;
};

// A PCIe switch, bridge, or a device that is neither GPU, NIC nor NVSwitch.
struct Bridge {
  std::vector<std::string> peers;  // bus ids of switches joined to this one beside the tree
  bool operator==(const Bridge&) const = default;
};

struct NvLink {
  std::string target;  // bus id of a GPU, or of (one port of) an NVSwitch
  int count = 1;
  std::uint32_t target_class = 0;  // PCI class of the target: 0x068000 is an NVSwitch
  bool operator==(const NvLink&) const = default;
};

struct C2cLink {
  int mbps = 0;  // 10^6 bytes per second, each
  int count = 1;
  bool operator==(const C2cLink&) const = default;
};

struct Gpu {
  int dev = -1, rank = -1;         // -1: not known, as in the files of cloud machines
  int sm = 0;                      // compute capability, 90 for 9.0; 0: not known
  bool gpu_direct = false;         // a NIC may read and write its memory
  std::uint64_t memory_bytes = 0;  // 0: not known
  double nvlink_gbps = 0;          // each link; 0: by the architecture
  std::vector<NvLink> nvlinks;
  std::vector<C2cLink> c2c;
  bool operator==(const Gpu&) const = default;
};

struct NvSwitch {
  bool operator==(const NvSwitch&) const = default;
};

struct Nic {
  std::string physical;  // bus id of the function this one is a virtual function of
  bool operator==(const Nic&) const = default;
};

// One port of a NIC, or an interface without a PCI device, right below a CPU's Nic.
struct NicPort {
  std::string name;  // mlx5_0, eth0
  int dev = -1;
  int speed_mbps = 0;  // megabits per second; 0: not known
  int port = 0;
  std::uint64_t guid = 0;  // 0: not known; ports of one adapter share it
  double latency_us = 0;
  int connections_max = 0;
  bool gpu_direct = false, collectives = false, keep = false;
  int rail = -1, plane = -1;
  bool operator==(const NicPort&) const = default;
};

// The kinds' order is that of Device's alternatives.
enum class NodeKind { cpu, bridge, gpu, nvswitch, nic, port };
using Device = std::variant<Cpu, Bridge, Gpu, NvSwitch, Nic, NicPort>;
const char* to_text(NodeKind kind);

// Where a device sits on PCIe. CPUs, ports and NICs without a PCI device have an empty bus id.
struct PciSlot {
  std::string busid;
  std::uint32_t device_class = 0;
  std::uint32_t vendor = 0, device = 0, subsystem_vendor = 0, subsystem_device = 0;
  double link_gts = 0;  // gigatransfers per second of one lane; 0: not known
  int link_width = 0;   // lanes; 0: not known
  bool operator==(const PciSlot&) const = default;
};

struct Node {
  int parent = -1;  // smaller than the node's own index; -1 for CPUs alone
  PciSlot pci;
  Device device;
  NodeKind kind() const { return static_cast<NodeKind>(device.index()); }
  bool operator==(const Node&) const = default;
};

// One host's devices, depth first: each before what sits below it, that right behind it.
class HostKind {
 public:
  explicit HostKind(std::vector<Node> nodes);
  std::span<const Node> nodes() const { return nodes_; }
  const Node& node(int index) const { return nodes_[static_cast<std::size_t>(index)]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  std::span<const int> cpus() const { return cpus_; }
  // In the order of their dev, else in that of the nodes; so are nets.
  std::span<const int> gpus() const { return gpus_; }
  // What traffic leaves by: ports, and NICs of which no port is described.
  std::span<const int> nets() const { return nets_; }

  int find_busid(std::string_view busid) const;  // -1 when absent
  int cpu_of(int index) const;
  // "gpu3", "cpu0", "mlx5_1", "nvswitch 0000:05:00.0": what people call it. The number of a GPU is
  // its dev, or its place among GPUs when no dev is known.
  std::string name_of(int index) const;
  bool operator==(const HostKind& other) const { return nodes_ == other.nodes_; }

 private:
  std::vector<Node> nodes_;
  std::vector<int> cpus_, gpus_, nets_;
  std::vector<int> by_busid_;  // those with a bus id, sorted by it
};

// What joins the hosts. `full` has no bottleneck; `fat` has down:up ports on its leaf switches;
// `rails` joins equal rails at full rate, others through a GPU of the right rail.
enum class FabricKind { none, full, fat, rails };

struct Fabric {
  FabricKind kind = FabricKind::none;
  int down = 1, up = 1;
  bool operator==(const Fabric&) const = default;
};

struct Host {
  std::shared_ptr<const HostKind> kind;
  std::uint64_t hash = 0;  // 0 where a single host was described without one
  int nvlink_domain = -1;  // hosts with equal numbers share one NVLink fabric; -1: none
};

class Machine {
 public:
  std::span<const Host> hosts() const { return hosts_; }
  const HostKind& kind_of(int host) const { return *hosts_[static_cast<std::size_t>(host)].kind; }
  const Fabric& fabric() const { return fabric_; }
  int host_count() const { return static_cast<int>(hosts_.size()); }
  int gpu_count() const { return gpu_count_; }
  int kind_count() const { return kind_count_; }

  // Every invariant of the graph; the text names host and node of the first that does not hold.
  Status check() const;
  bool operator==(const Machine& other) const;

 private:
  friend class MachineBuilder;
  std::vector<Host> hosts_;
  Fabric fabric_;
  int gpu_count_ = 0, kind_count_ = 0;
};

// Gathers hosts; equal descriptions become one. The Machine it gives holds its invariants.
class MachineBuilder {
 public:
  void add(HostKind kind, std::uint64_t hash = 0, int nvlink_domain = -1);
  // `count` hosts of one kind, hashes 1, 2, ...; `domain_hosts` in a row share an NVLink fabric
  // (0: none do).
  void add_many(HostKind kind, int count, int domain_hosts);
  void set(Fabric fabric) { machine_.fabric_ = fabric; }
  Result<Machine> build() &&;

 private:
  std::shared_ptr<const HostKind> share(HostKind kind);
  Machine machine_;
  std::vector<std::shared_ptr<const HostKind>> kinds_;
};

}  // namespace gyre
