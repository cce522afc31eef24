#include "topology/machine.h"

#include <algorithm>

namespace gyre {

const char* to_text(NodeKind kind) {
  static constexpr const char* kNames[] = {"cpu", "bridge", "gpu", "nvswitch", "nic", "port"};
  return kNames[static_cast<int>(kind)];
}

namespace {

int dev_of(const Node& node) {
  if (const Gpu* gpu = std::get_if<Gpu>(&node.device)) return gpu->dev;
  const NicPort* port = std::get_if<NicPort>(&node.device);
  return port != nullptr ? port->dev : -1;
}

}  // namespace

HostKind::HostKind(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  std::vector<bool> has_port(nodes_.size(), false);
  for (const Node& node : nodes_)
    if (node.kind() == NodeKind::port && node.parent >= 0 &&
        static_cast<std::size_t>(node.parent) < nodes_.size())
      has_port[static_cast<std::size_t>(node.parent)] = true;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const NodeKind kind = nodes_[i].kind();
    if (!nodes_[i].pci.busid.empty()) by_busid_.push_back(static_cast<int>(i));
    if (kind == NodeKind::cpu) cpus_.push_back(static_cast<int>(i));
    if (kind == NodeKind::gpu) gpus_.push_back(static_cast<int>(i));
    if (kind == NodeKind::port || (kind == NodeKind::nic && !has_port[i]))
      nets_.push_back(static_cast<int>(i));
  }
  for (std::vector<int>* some : {&gpus_, &nets_})
    std::stable_sort(some->begin(), some->end(), [&](int a, int b) {
      return dev_of(nodes_[static_cast<std::size_t>(a)]) <
             dev_of(nodes_[static_cast<std::size_t>(b)]);
    });
  std::stable_sort(by_busid_.begin(), by_busid_.end(),
                   [&](int a, int b) { return node(a).pci.busid < node(b).pci.busid; });
}

int HostKind::find_busid(std::string_view busid) const {
  const auto at = std::lower_bound(
      by_busid_.begin(), by_busid_.end(), busid,
      [&](int index, std::string_view wanted) { return node(index).pci.busid < wanted; });
  return at == by_busid_.end() || node(*at).pci.busid != busid ? -1 : *at;
}

int HostKind::cpu_of(int index) const {
  while (node(index).parent >= 0) index = node(index).parent;
  return index;
}

std::string HostKind::name_of(int index) const {
  const Node& it = node(index);
  const auto place_in = [&](const std::vector<int>& among) {
    return std::find(among.begin(), among.end(), index) - among.begin();
  };
  if (const Cpu* cpu = std::get_if<Cpu>(&it.device)) return fmt::format("cpu{}", cpu->numa);
  if (const Gpu* gpu = std::get_if<Gpu>(&it.device))
    return gpu->dev >= 0 ? fmt::format("gpu{}", gpu->dev) : fmt::format("gpu{}", place_in(gpus_));
  if (const NicPort* port = std::get_if<NicPort>(&it.device); port && !port->name.empty())
    return port->name;
  if (std::find(nets_.begin(), nets_.end(), index) != nets_.end())
    return fmt::format("net{}", place_in(nets_));
  if (it.pci.busid.empty()) return to_text(it.kind());
  return fmt::format("{} {}", to_text(it.kind()), it.pci.busid);
}

bool Machine::operator==(const Machine& other) const {
  return fabric_ == other.fabric_ &&
         std::equal(hosts_.begin(), hosts_.end(), other.hosts_.begin(), other.hosts_.end(),
                    [](const Host& a, const Host& b) {
                      return a.hash == b.hash && a.nvlink_domain == b.nvlink_domain &&
                             (a.kind == b.kind || *a.kind == *b.kind);
                    });
}

std::shared_ptr<const HostKind> MachineBuilder::share(HostKind kind) {
  // Beyond the limit build() refuses the machine, so that the search is bounded.
  if (kinds_.size() <= static_cast<std::size_t>(kHostKindsMax))
    for (const auto& known : kinds_)
      if (*known == kind) return known;
  return kinds_.emplace_back(std::make_shared<const HostKind>(std::move(kind)));
}

void MachineBuilder::add(HostKind kind, std::uint64_t hash, int nvlink_domain) {
  machine_.hosts_.push_back({share(std::move(kind)), hash, nvlink_domain});
}

void MachineBuilder::add_many(HostKind kind, int count, int domain_hosts) {
  const auto shared = share(std::move(kind));
  const std::size_t before = machine_.hosts_.size();
  for (int i = 0; i < count; ++i)
    machine_.hosts_.push_back({shared, before + static_cast<std::uint64_t>(i) + 1,
                               domain_hosts > 0 ? i / domain_hosts : -1});
}

Result<Machine> MachineBuilder::build() && {
  for (const Host& host : machine_.hosts_)
    machine_.gpu_count_ += static_cast<int>(host.kind->gpus().size());
  machine_.kind_count_ = static_cast<int>(kinds_.size());
  GYRE_TRY(machine_.check());
  return std::move(machine_);
}

}  // namespace gyre
