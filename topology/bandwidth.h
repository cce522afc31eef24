// How fast the links of a Machine are. Knows published and measured rates by generation. Does not
// know the graph.
//
// Convention as in machine.h: GB/s in one direction, as a copy reaches it. Where NCCL's model has a
// value it is used, so that both see the same machine.
#pragma once

#include "topology/machine.h"

namespace gyre {

inline constexpr double kLocalGbps = 5000;  // within one GPU

// Lanes times lane rate; what is not known counts as 16 lanes of generation 3.
double pci_gbps(const PciSlot& slot);
// One NVLink of this GPU: what the description says, or its architecture's.
double nvlink_gbps(const Gpu& gpu);
double c2c_gbps(const Gpu& gpu);  // all links together; 0 without
// From one socket to another.
double socket_gbps(const Cpu& cpu);
// A port's rate, or its PCI link's where the port is not described. `index` is one of nets().
double net_gbps(const HostKind& host, int index);

// The family as vendors' manuals name it: files hold AMD's as 23 or, with the extension shifted
// differently, as 143.
int cpu_family(const Cpu& cpu);

}  // namespace gyre
