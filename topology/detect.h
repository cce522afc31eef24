// The machine one runs on. Knows where hwloc and sysfs tell of NUMA nodes, PCIe and NICs. Does not
// know NVLinks, architectures and numbers of GPUs: only their driver tells those.
#pragma once

#include "topology/xml.h"

namespace gyre {

struct DetectOptions {
  std::string sysfs = "/sys";  // rates of links and ports are read below it
  // Instead of this machine's, for tests: hwloc's own XML, or its synthetic line.
  std::string hwloc_xml, hwloc_synthetic;
};

// GPUs, NICs and NVSwitches, with the bridges that lead to them; other devices are left out. Where
// no NIC is found on PCIe (containers, guests), network interfaces hang on the first CPU; one
// warning says so.
Result<DescribedMachine> detect(const DetectOptions& options);

}  // namespace gyre
