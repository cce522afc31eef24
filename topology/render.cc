#include "topology/render.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/units.h"
#include "topology/bandwidth.h"
#include "topology/policy.h"

namespace gyre {

namespace {

// "1 gpu", "8 gpus".
std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string cpu_text(const Cpu& cpu) {
  std::string text;
  for (const std::string& word : {cpu.arch, cpu.vendor})
    if (!word.empty()) text += " " + word;
  if (cpu.family >= 0) text += fmt::format(" family {} model {}", cpu_family(cpu), cpu.model);
  if (!cpu.affinity.empty()) text += " cores " + cpu.affinity;
  return text;
}

std::string gpu_text(const HostKind& host, const Gpu& gpu) {
  std::string text;
  if (gpu.sm > 0) text += fmt::format(" sm{}", gpu.sm);
  if (gpu.rank >= 0) text += fmt::format(" rank {}", gpu.rank);
  if (gpu.memory_bytes > 0) text += " " + bytes_text(gpu.memory_bytes);
  for (const NvLink& link : gpu.nvlinks) {
    const int target = host.find_busid(link.target);
    text += fmt::format(", {} x {:.4g} GB/s nvlink to {}", link.count, nvlink_gbps(gpu),
                        target < 0 ? link.target : host.name_of(target));
  }
  if (!gpu.c2c.empty()) text += fmt::format(", c2c {:.4g} GB/s", c2c_gbps(gpu));
  return text;
}

std::string line_of(const HostKind& host, int index) {
  const Node& node = host.node(index);
  std::string text = host.name_of(index);
  if (!node.pci.busid.empty()) {
    if (text.find(node.pci.busid) == std::string::npos) text += " " + node.pci.busid;
    text += fmt::format(" pcie {:.4g} GB/s", pci_gbps(node.pci));
  }
  if (const Cpu* cpu = std::get_if<Cpu>(&node.device)) text += cpu_text(*cpu);
  if (const Gpu* gpu = std::get_if<Gpu>(&node.device)) text += gpu_text(host, *gpu);
  if (node.kind() == NodeKind::port) text += fmt::format(" {:.4g} GB/s", net_gbps(host, index));
  return text;
}

std::string host_text(const HostKind& host) {
  std::string text;
  std::vector<std::size_t> depths;
  for (int i = 0; i < host.size(); ++i) {
    const int parent = host.node(i).parent;
    depths.push_back(parent < 0 ? 1 : depths[static_cast<std::size_t>(parent)] + 1);
    text += std::string(depths.back() * 2, ' ') + line_of(host, i) + "\n";
  }
  return text;
}

std::string fabric_text(const Fabric& fabric) {
  switch (fabric.kind) {
    case FabricKind::none:
      return "none";
    case FabricKind::full:
      return "full bandwidth between all hosts";
    case FabricKind::fat:
      return fmt::format("fat tree {}:{}", fabric.down, fabric.up);
    case FabricKind::rails:
      return "equal rails joined";
  }
  return {};
}

std::string cell_text(const HostPaths& paths, int a, int b) {
  if (a == b) return "X";
  const Path path = paths.between(a, b);
  return path.path_class == PathClass::nvl ? fmt::format("NV{}", path.links)
                                           : to_text(path.path_class);
}

std::string place_text(const Machine& machine, Place place) {
  const std::string name = machine.kind_of(place.host).name_of(place.node);
  return machine.host_count() > 1 ? fmt::format("host{}/{}", place.host, name) : name;
}

void add_lines(std::string& text, const std::string& what, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) text += fmt::format("  {}{}\n", what, line);
}

void add_decisions(std::string& text, const HostPaths& paths, int a, int b) {
  const HostKind& host = paths.host();
  const auto is_gpu = [&](int node) { return host.node(node).kind() == NodeKind::gpu; };
  const auto is_cpu = [&](int node) { return host.node(node).kind() == NodeKind::cpu; };
  if (is_cpu(a) || is_cpu(b)) return;
  if (is_gpu(a) && is_gpu(b)) {
    const Decision decision = peer_access(paths, a, b);
    add_lines(text, decision.yes ? "peer access: yes, " : "peer access: no, ", decision.reasons);
  } else if (is_gpu(a) || is_gpu(b)) {
    const int gpu = is_gpu(a) ? a : b, net = is_gpu(a) ? b : a;
    const Decision decision = direct_access(paths, gpu, net);
    add_lines(text, decision.yes ? "GPUDirect: yes, " : "GPUDirect: no, ", decision.reasons);
    const auto place = std::find(host.gpus().begin(), host.gpus().end(), gpu);
    const auto choices = choose_nics(paths);
    add_lines(text,
              "NIC: ", choices[static_cast<std::size_t>(place - host.gpus().begin())].reasons);
  }
}

}  // namespace

std::string tree_text(const Machine& machine) {
  std::string text = fmt::format("{}, {}\n", counted(machine.hosts().size(), "host"),
                                 counted(static_cast<std::size_t>(machine.gpu_count()), "gpu"));
  if (machine.host_count() > 1) text += "fabric: " + fabric_text(machine.fabric()) + "\n";
  std::map<const HostKind*, std::vector<int>> alike;
  for (int i = 0; i < machine.host_count(); ++i) alike[&machine.kind_of(i)].push_back(i);
  for (int i = 0; i < machine.host_count(); ++i) {
    const std::vector<int>& same = alike[&machine.kind_of(i)];
    if (same.front() != i) continue;
    text += fmt::format("host {}", i);
    if (same.size() > 1) text += fmt::format(" and {} like it", same.size() - 1);
    text += "\n" + host_text(machine.kind_of(i));
  }
  return text;
}

std::string matrix_text(const HostPaths& paths) {
  const HostKind& host = paths.host();
  std::vector<int> ends(host.gpus().begin(), host.gpus().end());
  ends.insert(ends.end(), host.nets().begin(), host.nets().end());
  std::size_t width = 5;
  for (const int end : ends) width = std::max(width, host.name_of(end).size() + 1);
  std::string text = fmt::format("{:{}}", "", width);
  for (const int end : ends) text += fmt::format("{:{}}", host.name_of(end), width);
  text += "cpu\n";
  for (const int a : ends) {
    text += fmt::format("{:{}}", host.name_of(a), width);
    for (const int b : ends) text += fmt::format("{:{}}", cell_text(paths, a, b), width);
    text += host.name_of(host.cpu_of(a)) + "\n";
  }
  return text;
}

std::string nics_text(const HostPaths& paths) {
  const HostKind& host = paths.host();
  const auto choices = choose_nics(paths);
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    text += host.name_of(host.gpus()[i]) + " ->";
    for (const int net : choices[i].nets) {
      const Path& path = paths.own(host.gpus()[i], net);
      text += fmt::format(" {} ({} {:.4g} GB/s)", host.name_of(net), to_text(path.path_class),
                          path.gbps);
    }
    text += choices[i].nets.empty() ? " no NIC\n" : "\n";
  }
  return text;
}

Result<Place> find_place(const Machine& machine, std::string_view name) {
  Place place;
  std::string_view rest = name;
  if (const auto slash = name.find('/'); name.starts_with("host") && slash != name.npos) {
    const char* const end = name.data() + slash;
    const auto [stop, problem] = std::from_chars(name.data() + 4, end, place.host);
    if (problem != std::errc() || stop != end || place.host < 0 ||
        place.host >= machine.host_count())
      return error(Code::invalid_argument, "'{}': there are hosts 0 to {}", name,
                   machine.host_count() - 1);
    rest = name.substr(slash + 1);
  }
  const HostKind& host = machine.kind_of(place.host);
  std::vector<std::string> known;
  for (const auto& some : {host.gpus(), host.nets(), host.cpus()})
    for (const int node : some) {
      place.node = node;
      known.push_back(host.name_of(node));
      if (rest == known.back() || rest == host.node(node).pci.busid) return place;
    }
  return error(Code::invalid_argument, "'{}' is not known; there are {}", name,
               fmt::join(known, " "));
}

std::string why_text(const Paths& paths, Place a, Place b) {
  const Machine& machine = paths.machine();
  const Path path = paths.between(a, b);
  std::string text = fmt::format("{} to {}: {}, {:.4g} GB/s each way\n", place_text(machine, a),
                                 place_text(machine, b), to_text(path.path_class), path.gbps);
  if (path.links > 0)
    text += fmt::format("  over {}\n", counted(static_cast<std::size_t>(path.links), "NVLink"));
  if (path.via >= 0)
    text += fmt::format("  through {}\n", machine.kind_of(a.host).name_of(path.via));
  if (a.host == b.host) {
    add_decisions(text, paths.of(a.host), a.node, b.node);
    return text;
  }
  if (path.path_class == PathClass::nvl)
    text += fmt::format("  both hosts share NVLink domain {}\n",
                        machine.hosts()[static_cast<std::size_t>(a.host)].nvlink_domain);
  else
    text += fmt::format("  fabric: {}\n", fabric_text(machine.fabric()));
  return text;
}

}  // namespace gyre
