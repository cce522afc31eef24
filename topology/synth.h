// One line that describes a machine: "1250x(8gpu@nvs450 8nic@50) fat2:1". Knows the grammar. Does
// not know files.
//
//   machine := [COUNT "x"] "(" part+ ")" fabric*     a cluster; without COUNT one host
//            | part+                                 one host
//   part    := N "gpu" ["@" nvlink]
//            | N "nic" ["@" RATE]                    GB/s of each, default 50
//            | N "cpu"                                 sockets; default 2 from 4 GPUs on, else 1
//            | "pcie" GENERATION                     1 to 6, default 5
//            | "sm" NUMBER                           compute capability, default 90
//   nvlink  := "nvs" links | "mesh" links | "pairs" links
//              to NVSwitches; from each GPU to each other one; between 0-1, 2-3, ...
//   links   := [COUNT "x"] RATE                      GB/s of each, one direction; default one link
//   fabric  := "full" | "fat" DOWN ":" UP | "rails"  several hosts: default "full"
//            | "domain" HOSTS                        so many in a row share one NVLink fabric
//
// GPUs and NICs are dealt to the sockets in order. Where their numbers have a common divisor that
// is a multiple of the sockets, so many PCIe switches hold equal shares of both; else each device
// has a root port of its own.
#pragma once

#include <string_view>

#include "topology/machine.h"

namespace gyre {

inline constexpr int kSynthDevicesMax = 256;  // GPUs, NICs, or CPUs of one host

// An error names the column and what was expected there.
Result<Machine> parse_synth(std::string_view line);

}  // namespace gyre
