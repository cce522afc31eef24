// The invariants of a Machine. Knows what a sound graph is. Does not know where it came from.
#include <map>
#include <set>

#include "topology/machine.h"

namespace gyre {

namespace {

template <class... Args>
Error unsound(const HostKind& host, int index, fmt::format_string<Args...> form, Args&&... args) {
  return error(Code::invalid_argument, "{}: {}", host.name_of(index),
               fmt::format(form, std::forward<Args>(args)...));
}

bool may_hold(NodeKind parent, NodeKind child) {
  if (child == NodeKind::port) return parent == NodeKind::nic;
  return parent == NodeKind::cpu || parent == NodeKind::bridge;
}

Status check_place(const HostKind& host, int index) {
  const Node& node = host.node(index);
  if (node.kind() == NodeKind::cpu)
    return node.parent == -1 ? Status() : unsound(host, index, "a cpu has no parent");
  if (node.parent < 0 || node.parent >= index)
    return error(Code::invalid_argument, "node {} ({}): its parent must stand before it", index,
                 to_text(node.kind()));
  // Files are written in this order, so only it survives them.
  int before = index - 1;
  while (before > node.parent) before = host.node(before).parent;
  if (before != node.parent)
    return unsound(host, index, "its parent's other devices must stand right before it");
  const Node& parent = host.node(node.parent);
  if (!may_hold(parent.kind(), node.kind()))
    return unsound(host, index, "a {} cannot sit below {}", to_text(node.kind()),
                   host.name_of(node.parent));
  const bool below_cpu_alone = node.kind() == NodeKind::nic && parent.kind() == NodeKind::cpu;
  if (node.kind() != NodeKind::port && node.pci.busid.empty() && !below_cpu_alone)
    return unsound(host, index, "a PCI device needs a bus id");
  if (node.pci.link_gts < 0 || node.pci.link_width < 0 || node.pci.link_width > kPciLanesMax)
    return unsound(host, index, "PCI link of {} GT/s x{}; 0 to {} lanes are possible",
                   node.pci.link_gts, node.pci.link_width, kPciLanesMax);
  return {};
}

Status check_gpu(const HostKind& host, int index, const Gpu& gpu) {
  if (gpu.nvlink_gbps < 0) return unsound(host, index, "negative NVLink bandwidth");
  for (const C2cLink& link : gpu.c2c)
    if (link.count < 1 || link.mbps < 1) return unsound(host, index, "C2C without bandwidth");
  std::map<std::string, int> links;
  for (const NvLink& link : gpu.nvlinks) {
    if (link.count < 1) return unsound(host, index, "{} NVLinks to {}", link.count, link.target);
    links[link.target] += link.count;
  }
  for (const auto& [target, count] : links) {
    const int other = host.find_busid(target);
    if (other == index) return unsound(host, index, "an NVLink leads back to itself");
    // Switches may be hidden, and a guest sees links to GPUs it was not given.
    const Gpu* peer = other < 0 ? nullptr : std::get_if<Gpu>(&host.node(other).device);
    if (peer == nullptr) continue;
    int back = 0;
    for (const NvLink& link : peer->nvlinks)
      if (link.target == host.node(index).pci.busid) back += link.count;
    if (back != count)
      return unsound(host, index, "{} NVLinks to {} but {} back", count, host.name_of(other), back);
  }
  return {};
}

// Numbers by which devices are told apart: bus id, NUMA node, dev.
Status check_unique(const HostKind& host) {
  std::set<std::string> busids;
  std::set<int> numas, devs, ranks;
  for (int i = 0; i < host.size(); ++i) {
    const Node& node = host.node(i);
    if (!node.pci.busid.empty() && !busids.insert(node.pci.busid).second)
      return unsound(host, i, "bus id {} is used twice", node.pci.busid);
    if (const Cpu* cpu = std::get_if<Cpu>(&node.device); cpu && !numas.insert(cpu->numa).second)
      return unsound(host, i, "NUMA node {} is used twice", cpu->numa);
    const Gpu* gpu = std::get_if<Gpu>(&node.device);
    if (gpu && gpu->dev >= 0 && !devs.insert(gpu->dev).second)
      return unsound(host, i, "dev {} is used twice", gpu->dev);
    if (gpu && gpu->rank >= 0 && !ranks.insert(gpu->rank).second)
      return unsound(host, i, "rank {} is used twice", gpu->rank);
  }
  return {};
}

// Half of the GPUs with a number and half without would give two GPUs one name.
Status check_numbered(const HostKind& host) {
  for (const int gpu : host.gpus()) {
    const int first = std::get<Gpu>(host.node(host.gpus().front()).device).dev;
    if ((std::get<Gpu>(host.node(gpu).device).dev < 0) != (first < 0))
      return unsound(host, gpu, "either all GPUs of a host have a dev or none");
  }
  return {};
}

Status check_kind(const HostKind& host) {
  if (host.cpus().empty()) return error(Code::invalid_argument, "no cpu is described");
  if (host.size() > kHostNodesMax)
    return error(Code::invalid_argument, "{} nodes, at most {}", host.size(), kHostNodesMax);
  if (host.gpus().size() > static_cast<std::size_t>(kHostGpusMax))
    return error(Code::invalid_argument, "{} GPUs, at most {}", host.gpus().size(), kHostGpusMax);
  const std::size_t ends = host.cpus().size() + host.gpus().size() + host.nets().size();
  if (ends > static_cast<std::size_t>(kHostEndsMax))
    return error(Code::invalid_argument, "{} CPUs, GPUs and network ports, at most {}", ends,
                 kHostEndsMax);
  for (int i = 0; i < host.size(); ++i) GYRE_TRY(check_place(host, i));
  GYRE_TRY(check_unique(host));
  GYRE_TRY(check_numbered(host));
  for (int i = 0; i < host.size(); ++i) {
    const Device& device = host.node(i).device;
    if (const Gpu* gpu = std::get_if<Gpu>(&device)) GYRE_TRY(check_gpu(host, i, *gpu));
    if (const NicPort* port = std::get_if<NicPort>(&device))
      if (port->speed_mbps < 0 || !(port->latency_us >= 0))
        return unsound(host, i, "negative speed or latency");
  }
  return {};
}

}  // namespace

Status Machine::check() const {
  if (hosts_.empty()) return error(Code::invalid_argument, "no host is described");
  if (host_count() > kHostsMax || kind_count_ > kHostKindsMax)
    return error(Code::invalid_argument, "{} hosts of {} kinds, at most {} of {}", host_count(),
                 kind_count_, kHostsMax, kHostKindsMax);
  if (fabric_.down < 1 || fabric_.up < 1)
    return error(Code::invalid_argument, "fabric of {}:{}; both must be at least 1", fabric_.down,
                 fabric_.up);
  std::set<std::uint64_t> hashes;
  std::set<const HostKind*> checked;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (!hashes.insert(hosts_[i].hash).second)
      return error(Code::invalid_argument, "host {}: hash {:#x} is used twice", i, hosts_[i].hash);
    if (!checked.insert(hosts_[i].kind.get()).second) continue;
    GYRE_TRY_WHILE(check_kind(*hosts_[i].kind), "checking host {}", i);
  }
  return {};
}

}  // namespace gyre
