#include "topology/policy.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "topology/bandwidth.h"

namespace gyre {

namespace {

// Device ids of GeForce cards whose driver refuses peer access over PCIe: RTX 4090, 4090 D, 5090.
constexpr std::array<std::uint32_t, 3> kNoPeerAccess = {0x2684, 0x2685, 0x2b85};
constexpr std::uint32_t kNvidia = 0x10de;

template <class... Args>
Decision decide(bool yes, fmt::format_string<Args...> form, Args&&... args) {
  return {yes, {fmt::format(form, std::forward<Args>(args)...)}};
}

bool refuses_peers(const PciSlot& slot) {
  return slot.vendor == kNvidia &&
         std::find(kNoPeerAccess.begin(), kNoPeerAccess.end(), slot.device) != kNoPeerAccess.end();
}

bool all_amd(const HostKind& host) {
  return std::all_of(host.cpus().begin(), host.cpus().end(), [&](int cpu) {
    return std::get<Cpu>(host.node(cpu).device).vendor == "AuthenticAMD";
  });
}

// Why a net is not counted; empty when it is.
class Counted {
 public:
  explicit Counted(const HostKind& host) : host_(host) {
    for (const int net : host.nets()) fastest_ = std::max(fastest_, net_gbps(host, net));
  }

  std::string refuse(int net) {
    const Node& node = host_.node(net);
    const NicPort* port = std::get_if<NicPort>(&node.device);
    const Node& card = port == nullptr ? node : host_.node(node.parent);
    const std::string& physical = std::get<Nic>(card.device).physical;
    if (!physical.empty() && host_.find_busid(physical) >= 0)
      return fmt::format("a virtual function of {}, which is counted", physical);
    if (!physical.empty() && !physicals_.insert(physical).second)
      return fmt::format("another virtual function of {} is counted", physical);
    if (port != nullptr && port->guid != 0 && !ports_.insert({port->guid, port->port}).second)
      return fmt::format("port {} of adapter {:#x} is counted already", port->port, port->guid);
    constexpr double kLeastShare = 0.1;
    if (net_gbps(host_, net) < fastest_ * kLeastShare)
      return fmt::format("{:.4g} GB/s, less than a tenth of the fastest", net_gbps(host_, net));
    return {};
  }

 private:
  const HostKind& host_;
  double fastest_ = 0;
  std::set<std::string> physicals_;
  std::set<std::pair<std::uint64_t, int>> ports_;
};

std::string names_of(const HostKind& host, const std::vector<int>& nodes) {
  std::vector<std::string> names;
  for (const int node : nodes) names.push_back(host.name_of(node));
  return fmt::format("{}", fmt::join(names, " "));
}

// The nets of the best class and rate that this GPU reaches by itself.
std::vector<int> nearest(const HostPaths& paths, int gpu, const std::vector<int>& nets) {
  Path best;
  std::vector<int> found;
  for (const int net : nets) {
    const Path& path = paths.own(gpu, net);
    if (path.better_than(best)) {
      best = path;
      found.clear();
    }
    if (!best.better_than(path)) found.push_back(net);
  }
  return found;
}

// `place` of `sharers` GPUs gets its part of equal nets: several when there are more nets than
// GPUs.
std::vector<int> part_of(const std::vector<int>& nets, std::size_t place, std::size_t sharers) {
  if (nets.size() < sharers) return {nets[place * nets.size() / sharers]};
  std::vector<int> part;
  for (std::size_t i = place; i < nets.size(); i += sharers) part.push_back(nets[i]);
  return part;
}

// A GPU without a NIC on its switch leaves those of others' switches to them while it can.
std::vector<int> without_claimed(const HostPaths& paths, int gpu, const std::vector<int>& nets) {
  std::vector<int> free;
  for (const int net : nets) {
    const bool claimed =
        std::any_of(paths.host().gpus().begin(), paths.host().gpus().end(), [&](int other) {
          const PathClass theirs = paths.own(other, net).path_class;
          return theirs <= PathClass::pxb && theirs < paths.own(gpu, net).path_class;
        });
    if (!claimed) free.push_back(net);
  }
  return free.empty() ? nets : free;
}

// Lines about the nets that a GPU does not send by.
void explain_others(const HostPaths& paths, int gpu, const std::vector<int>& counted,
                    NicChoice& choice) {
  const HostKind& host = paths.host();
  const Path& taken = paths.own(gpu, choice.nets.front());
  for (const int net : counted) {
    if (std::find(choice.nets.begin(), choice.nets.end(), net) != choice.nets.end()) continue;
    const Path& path = paths.own(gpu, net);
    if (path.path_class != taken.path_class) {
      choice.reasons.push_back(fmt::format("{} left alone: {}, and {} is nearer", host.name_of(net),
                                           to_text(path.path_class), to_text(taken.path_class)));
    } else if (path.gbps < taken.gbps) {
      choice.reasons.push_back(
          fmt::format("{} left alone: {:.4g} GB/s is slower", host.name_of(net), path.gbps));
    } else {
      choice.reasons.push_back(
          fmt::format("{} left to other GPUs that see it as near or nearer", host.name_of(net)));
    }
  }
}

}  // namespace

Decision peer_access(const HostPaths& paths, int gpu_a, int gpu_b) {
  const HostKind& host = paths.host();
  const Path& path = paths.own(gpu_a, gpu_b);
  switch (path.path_class) {
    case PathClass::loc:
      return decide(true, "the same GPU");
    case PathClass::nvl:
      return decide(true, "{} NVLinks join them", path.links);
    case PathClass::nvb:
      return decide(true, "NVLinks join both to {}, which passes data on", host.name_of(path.via));
    default:
      break;
  }
  for (const int gpu : {gpu_a, gpu_b})
    if (refuses_peers(host.node(gpu).pci))
      return decide(false, "{}: the driver of device {:#06x} refuses peer access over PCIe",
                    host.name_of(gpu), host.node(gpu).pci.device);
  if (path.path_class <= PathClass::pxb)
    return decide(true, "{}: PCIe switches carry it, no CPU in between", to_text(path.path_class));
  if (path.path_class <= PathClass::sys && all_amd(host) && host.gpus().size() <= 2)
    return decide(true, "{}: AMD's root complexes carry peer traffic of up to two GPUs",
                  to_text(path.path_class));
  return decide(false, "{}: the way leads through a CPU; host memory is faster",
                to_text(path.path_class));
}

Decision direct_access(const HostPaths& paths, int gpu, int net) {
  const HostKind& host = paths.host();
  const Path path = paths.between(gpu, net);
  const int owner = path.path_class == PathClass::pxn ? path.via : gpu;
  if (!std::get<Gpu>(host.node(owner).device).gpu_direct)
    return decide(false, "{} does not offer GPUDirect (gdr 0 or not described)",
                  host.name_of(owner));
  const NicPort* port = std::get_if<NicPort>(&host.node(net).device);
  if (port == nullptr || !port->gpu_direct)
    return decide(false, "{} does not offer GPUDirect (gdr 0 or not described)", host.name_of(net));
  if (owner != gpu)
    return decide(true, "PXN: NVLink to {}, which is near {}", host.name_of(owner),
                  host.name_of(net));
  if (path.path_class <= PathClass::pxb)
    return decide(true, "{}: PCIe switches carry it, no CPU in between", to_text(path.path_class));
  if (path.path_class == PathClass::p2c)
    return decide(true, "P2C: C2C carries it to the CPU that holds the NIC");
  return decide(false, "{}: the way leads through a CPU; data is staged in host memory",
                to_text(path.path_class));
}

std::vector<NicChoice> choose_nics(const HostPaths& paths) {
  const HostKind& host = paths.host();
  Counted rule(host);
  std::vector<int> counted;
  std::vector<std::string> refused;
  for (const int net : host.nets()) {
    const std::string why = rule.refuse(net);
    if (why.empty()) counted.push_back(net);
    if (!why.empty()) refused.push_back(fmt::format("{} not counted: {}", host.name_of(net), why));
  }
  std::vector<std::vector<int>> candidates;
  // GPUs that see equal nets from farther away divide them among themselves.
  using Sight = std::pair<std::vector<int>, PathClass>;
  const auto sight_of = [&](int gpu, const std::vector<int>& nets) {
    return Sight{nets, nets.empty() ? PathClass::dis : paths.own(gpu, nets[0]).path_class};
  };
  std::map<Sight, std::size_t> sharers, placed;
  for (const int gpu : host.gpus()) {
    candidates.push_back(without_claimed(paths, gpu, nearest(paths, gpu, counted)));
    ++sharers[sight_of(gpu, candidates.back())];
  }
  std::vector<NicChoice> choices;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    NicChoice& choice = choices.emplace_back();
    const std::vector<int>& equal = candidates[i];
    const int gpu = host.gpus()[i];
    if (equal.empty()) {
      choice.reasons = {"the host has no NIC"};
      continue;
    }
    const Sight sight = sight_of(gpu, equal);
    choice.nets = part_of(equal, placed[sight]++, sharers[sight]);
    const Path& path = paths.own(gpu, choice.nets.front());
    choice.reasons.push_back(fmt::format(
        "nearest are {} ({} {:.4g} GB/s), divided among {} GPUs: takes {}", names_of(host, equal),
        to_text(path.path_class), path.gbps, sharers[sight], names_of(host, choice.nets)));
    explain_others(paths, gpu, counted, choice);
    choice.reasons.insert(choice.reasons.end(), refused.begin(), refused.end());
  }
  return choices;
}

}  // namespace gyre
