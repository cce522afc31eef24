#include "topology/bandwidth.h"

#include <algorithm>
#include <array>

namespace gyre {

namespace {

struct Rate {
  double key, gbps;
};

// The last row whose key is not above `key`; the first row when all are.
template <std::size_t N>
double last_not_above(const std::array<Rate, N>& rows, double key) {
  double found = rows[0].gbps;
  for (const Rate& row : rows)
    if (row.key <= key) found = row.gbps;
  return found;
}

// GT/s -> GB/s of one lane. Encoding (8b/10b up to 5 GT/s) and protocol are taken off.
constexpr std::array<Rate, 6> kLane = {
    {{2.5, 0.1875}, {5, 0.375}, {8, 0.75}, {16, 1.5}, {32, 3}, {64, 6}}};
constexpr std::array<Rate, 6> kNvLink = {
    {{60, 18}, {70, 20}, {80, 20}, {86, 12}, {90, 20.6}, {100, 40.1}}};
// Model numbers of Intel's family 6: Broadwell and before, Skylake, Sapphire and Emerald Rapids.
constexpr std::array<Rate, 4> kIntel = {{{0, 6}, {0x55, 10}, {0x8f, 22}, {0xcf, 40}}};

}  // namespace

double pci_gbps(const PciSlot& slot) {
  const int lanes = slot.link_width > 0 ? slot.link_width : 16;
  return lanes * last_not_above(kLane, slot.link_gts > 0 ? slot.link_gts : 8);
}

double nvlink_gbps(const Gpu& gpu) {
  return gpu.nvlink_gbps > 0 ? gpu.nvlink_gbps : last_not_above(kNvLink, gpu.sm);
}

double c2c_gbps(const Gpu& gpu) {
  double sum = 0;
  for (const C2cLink& link : gpu.c2c) sum += link.mbps / 1000.0 * link.count;
  return sum;
}

double socket_gbps(const Cpu& cpu) {
  if (cpu.arch == "arm64") return 6;
  if (cpu.arch == "ppc64") return 32;
  if (cpu.vendor == "AuthenticAMD") return 16;
  if (cpu.vendor == "GenuineIntel") return last_not_above(kIntel, cpu.model);
  return 6;  // the slowest that is known
}

double net_gbps(const HostKind& host, int index) {
  const Node& node = host.node(index);
  const NicPort* port = std::get_if<NicPort>(&node.device);
  if (port == nullptr) return pci_gbps(node.pci);
  return port->speed_mbps > 0 ? port->speed_mbps / 8000.0 : pci_gbps(host.node(node.parent).pci);
}

int cpu_family(const Cpu& cpu) {
  // Base family 15 with the extension above it, where the sum is meant.
  const bool shifted = cpu.vendor == "AuthenticAMD" && cpu.family > 0x7f && cpu.family % 16 == 15;
  return shifted ? 15 + cpu.family / 16 : cpu.family;
}

}  // namespace gyre
