#include "topology/paths.h"

#include <algorithm>

#include "topology/bandwidth.h"
#include "topology/xml.h"

namespace gyre {

const char* to_text(PathClass path_class) {
  static constexpr const char* kNames[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                           "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
  return kNames[static_cast<int>(path_class)];
}

namespace {

const Gpu* gpu_at(const HostKind& host, int node) {
  return std::get_if<Gpu>(&host.node(node).device);
}

bool is_net(const HostKind& host, int node) {
  const NodeKind kind = host.node(node).kind();
  return kind == NodeKind::port || kind == NodeKind::nic;
}

// From a node to its CPU, both included.
std::vector<int> chain_of(const HostKind& host, int node) {
  std::vector<int> chain;
  for (; node >= 0; node = host.node(node).parent) chain.push_back(node);
  return chain;
}

// Of the link between a node and its parent.
double up_gbps(const HostKind& host, int node) {
  if (host.node(node).kind() == NodeKind::port) return net_gbps(host, node);
  return host.node(node).pci.busid.empty() ? kLocalGbps : pci_gbps(host.node(node).pci);
}

// Up the chain from its first node to chain[last].
double climb_gbps(const HostKind& host, const std::vector<int>& chain, std::size_t last) {
  double gbps = kLocalGbps;
  if (is_net(host, chain[0])) gbps = net_gbps(host, chain[0]);
  for (std::size_t i = 0; i < last; ++i) gbps = std::min(gbps, up_gbps(host, chain[i]));
  return gbps;
}

// All the way up, where a GPU's C2C link is a way beside PCIe.
double cpu_gbps(const HostKind& host, const std::vector<int>& chain) {
  const double pcie = climb_gbps(host, chain, chain.size() - 1);
  const Gpu* gpu = gpu_at(host, chain[0]);
  return gpu != nullptr && !gpu->c2c.empty() ? std::max(pcie, c2c_gbps(*gpu)) : pcie;
}

// Through a CPU, or two.
Path path_over_cpus(const HostKind& host, const std::vector<int>& a, const std::vector<int>& b) {
  const Cpu& cpu_a = std::get<Cpu>(host.node(a.back()).device);
  const Cpu& cpu_b = std::get<Cpu>(host.node(b.back()).device);
  const Gpu *gpu_a = gpu_at(host, a[0]), *gpu_b = gpu_at(host, b[0]);
  const bool same = a.back() == b.back();
  Path path{same ? PathClass::phb : PathClass::sys, std::min(cpu_gbps(host, a), cpu_gbps(host, b))};
  if (!same) path.gbps = std::min({path.gbps, socket_gbps(cpu_a), socket_gbps(cpu_b)});
  const bool c2c_a = gpu_a && !gpu_a->c2c.empty(), c2c_b = gpu_b && !gpu_b->c2c.empty();
  if (same && ((c2c_a && b.size() == 1) || (c2c_b && a.size() == 1)))
    path.path_class = PathClass::c2c;
  if (same && ((c2c_a && is_net(host, b[0])) || (c2c_b && is_net(host, a[0]))))
    path.path_class = PathClass::p2c;
  // Intel's root complexes carry a fifth more than the data between two GPUs.
  if (gpu_a && gpu_b && !c2c_a && !c2c_b && cpu_a.vendor == "GenuineIntel") path.gbps *= 5.0 / 6;
  return path;
}

int bridges_in(const HostKind& host, const std::vector<int>& chain, std::size_t count) {
  return static_cast<int>(
      std::count_if(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(count),
                    [&](int node) { return host.node(node).kind() == NodeKind::bridge; }));
}

// Over a link that joins two switches beside the tree.
Path path_over_peers(const HostKind& host, const std::vector<int>& a, const std::vector<int>& b) {
  Path best;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Bridge* bridge = std::get_if<Bridge>(&host.node(a[i]).device);
    if (bridge == nullptr) continue;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::string& busid = host.node(b[j]).pci.busid;
      if (std::find(bridge->peers.begin(), bridge->peers.end(), busid) == bridge->peers.end())
        continue;
      const double gbps = std::min({climb_gbps(host, a, i), climb_gbps(host, b, j),
                                    up_gbps(host, a[i]), up_gbps(host, b[j])});
      const Path path{PathClass::pxb, gbps};
      if (path.better_than(best)) best = path;
    }
  }
  return best;
}

// Along the tree of PCIe and the links between CPUs.
Path path_over_tree(const HostKind& host, const std::vector<int>& a, const std::vector<int>& b) {
  if (a[0] == b[0]) return {PathClass::loc, kLocalGbps};
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto meet = std::find(b.begin(), b.end(), a[i]);
    if (meet == b.end()) continue;
    if (host.node(a[i]).kind() == NodeKind::cpu) break;
    const auto j = static_cast<std::size_t>(meet - b.begin());
    const int bridges = bridges_in(host, a, i + 1) + bridges_in(host, b, j);
    return {bridges > 1 ? PathClass::pxb : PathClass::pix,
            std::min(climb_gbps(host, a, i), climb_gbps(host, b, j))};
  }
  const Path direct = path_over_cpus(host, a, b);
  Path beside = path_over_peers(host, a, b);
  const Path back = path_over_peers(host, b, a);
  if (back.better_than(beside)) beside = back;
  return beside.better_than(direct) ? beside : direct;
}

bool is_switch(const HostKind& host, const NvLink& link) {
  const int node = host.find_busid(link.target);
  return link.target_class == kNvSwitchClass ||
         (node >= 0 && host.node(node).kind() == NodeKind::nvswitch);
}

// Where one GPU's NVLinks lead.
struct NvLinks {
  double each_gbps = 0;
  int switched = 0;
  std::vector<int> direct;  // to each of the host's gpus()
};

Path nvlink_path(const NvLinks& a, const NvLinks& b, int direct) {
  const double direct_gbps = direct * std::min(a.each_gbps, b.each_gbps);
  const double switched_gbps = std::min(a.switched * a.each_gbps, b.switched * b.each_gbps);
  if (direct == 0 && switched_gbps <= 0) return {};
  if (direct_gbps >= switched_gbps) return {PathClass::nvl, direct_gbps, direct};
  return {PathClass::nvl, switched_gbps, std::min(a.switched, b.switched)};
}

}  // namespace

double switched_gbps(const HostKind& host, int gpu, int* links) {
  int count = 0;
  for (const NvLink& link : gpu_at(host, gpu)->nvlinks)
    if (is_switch(host, link)) count += link.count;
  if (links != nullptr) *links = count;
  return count * nvlink_gbps(*gpu_at(host, gpu));
}

HostPaths::HostPaths(std::shared_ptr<const HostKind> host) : host_(std::move(host)) {
  end_of_node_.resize(static_cast<std::size_t>(host_->size()), -1);
  for (const auto& some : {host_->gpus(), host_->nets(), host_->cpus()})
    for (const int node : some) {
      end_of_node_[static_cast<std::size_t>(node)] = static_cast<int>(ends_.size());
      ends_.push_back(node);
    }
  table_.resize(ends_.size() * ends_.size());
  fill_tree();
  fill_nvlink();
}

std::size_t HostPaths::slot(int a, int b) const {
  const auto end = [&](int node) {
    return static_cast<std::size_t>(end_of_node_[static_cast<std::size_t>(node)]);
  };
  return end(a) * ends_.size() + end(b);
}

const Path& HostPaths::own(int a, int b) const { return table_[slot(a, b)]; }

void HostPaths::fill_tree() {
  std::vector<std::vector<int>> chains;
  chains.reserve(ends_.size());
  for (const int node : ends_) chains.push_back(chain_of(*host_, node));
  for (std::size_t i = 0; i < ends_.size(); ++i)
    for (std::size_t j = i; j < ends_.size(); ++j)
      table_[i * ends_.size() + j] = table_[j * ends_.size() + i] =
          path_over_tree(*host_, chains[i], chains[j]);
}

void HostPaths::fill_nvlink() {
  const auto gpus = host_->gpus();
  const std::size_t count = gpus.size();
  std::vector<NvLinks> links(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Gpu& gpu = *gpu_at(*host_, gpus[i]);
    links[i] = {nvlink_gbps(gpu), 0, std::vector<int>(count)};
    switched_gbps(*host_, gpus[i], &links[i].switched);
    for (const NvLink& link : gpu.nvlinks)
      if (const int peer = host_->find_busid(link.target); peer >= 0 && gpu_at(*host_, peer))
        links[i].direct[static_cast<std::size_t>(end_of_node_[static_cast<std::size_t>(peer)])] +=
            link.count;  // GPUs are the first ends
  }
  std::vector<Path> direct(count * count);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j)
      if (i != j) direct[i * count + j] = nvlink_path(links[i], links[j], links[i].direct[j]);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j) {
      if (i == j) continue;
      Path best = direct[i * count + j];
      for (std::size_t via = 0; via < count && best.path_class != PathClass::nvl; ++via) {
        const Path &first = direct[i * count + via], &second = direct[via * count + j];
        const Path path{PathClass::nvb, std::min(first.gbps, second.gbps), 0, gpus[via]};
        if (path.gbps > 0 && path.better_than(best)) best = path;
      }
      Path& known = table_[slot(gpus[i], gpus[j])];
      if (best.better_than(known)) known = best;
    }
}

Path HostPaths::lend(int gpu, int net) const {
  Path best;
  for (const int lender : host_->gpus()) {
    const Path &link = own(gpu, lender), &way = own(lender, net);
    if (link.path_class != PathClass::nvl || way.path_class > PathClass::p2c) continue;
    const Path path{PathClass::pxn, std::min(link.gbps, way.gbps), 0, lender};
    if (path.better_than(best)) best = path;
  }
  return best;
}

Path HostPaths::between(int a, int b) const {
  const bool a_gpu = gpu_at(*host_, a) != nullptr, b_gpu = gpu_at(*host_, b) != nullptr;
  Path lent;
  if (a_gpu && is_net(*host_, b)) lent = lend(a, b);
  if (b_gpu && is_net(*host_, a)) lent = lend(b, a);
  return lent.better_than(own(a, b)) ? lent : own(a, b);
}

Paths::Paths(const Machine& machine) : machine_(machine) {
  for (const Host& host : machine_.hosts()) {
    auto& table = tables_[host.kind.get()];
    if (table == nullptr) table = std::make_unique<HostPaths>(host.kind);
  }
}

Path Paths::between(Place a, Place b) const {
  if (a.host == b.host) return of(a.host).between(a.node, b.node);
  const Host& host_a = machine_.hosts()[static_cast<std::size_t>(a.host)];
  const Host& host_b = machine_.hosts()[static_cast<std::size_t>(b.host)];
  if (host_a.nvlink_domain >= 0 && host_a.nvlink_domain == host_b.nvlink_domain &&
      gpu_at(*host_a.kind, a.node) && gpu_at(*host_b.kind, b.node)) {
    int links_a = 0, links_b = 0;
    const double gbps = std::min(switched_gbps(*host_a.kind, a.node, &links_a),
                                 switched_gbps(*host_b.kind, b.node, &links_b));
    if (gbps > 0) return {PathClass::nvl, gbps, std::min(links_a, links_b)};
  }
  return over_fabric(a, b);
}

// The pair of nets by which most gets through; each end may be a net itself.
Path Paths::over_fabric(Place a, Place b) const {
  const Fabric& fabric = machine_.fabric();
  if (fabric.kind == FabricKind::none) return {};
  const HostKind &host_a = machine_.kind_of(a.host), &host_b = machine_.kind_of(b.host);
  const auto nets_of = [](const HostKind& host, const int& node) {
    return is_net(host, node) ? std::span<const int>(&node, 1) : host.nets();
  };
  const auto rail_of = [](const HostKind& host, int net) {
    const NicPort* port = std::get_if<NicPort>(&host.node(net).device);
    return port != nullptr ? port->rail : -1;
  };
  Path best;
  for (const int net_a : nets_of(host_a, a.node)) {
    const double first = std::min(of(a.host).between(a.node, net_a).gbps, net_gbps(host_a, net_a));
    for (const int net_b : nets_of(host_b, b.node)) {
      const bool strangers = rail_of(host_a, net_a) != rail_of(host_b, net_b);
      if (fabric.kind == FabricKind::rails && strangers) continue;
      const double second =
          std::min(of(b.host).between(b.node, net_b).gbps, net_gbps(host_b, net_b));
      const Path path{PathClass::net, std::min(first, second)};
      if (path.better_than(best)) best = path;
    }
  }
  if (fabric.kind == FabricKind::fat && fabric.down > fabric.up)
    best.gbps *= static_cast<double>(fabric.up) / fabric.down;
  return best;
}

}  // namespace gyre
