// What a way between devices may be used for: peer access, GPUDirect, and which NICs a GPU sends
// by. Knows rules and says them. Does not know how ways are found (paths) or who acts on the
// answer.
#pragma once

#include <string>
#include <vector>

#include "topology/paths.h"

namespace gyre {

struct Decision {
  bool yes = false;
  std::vector<std::string> reasons;  // lines for a person
};

// Whether one GPU of a host may load and store the other's memory.
Decision peer_access(const HostPaths& paths, int gpu_a, int gpu_b);

// Whether a net may read and write the GPU's memory, or that of a GPU which lends its way.
Decision direct_access(const HostPaths& paths, int gpu, int net);

struct NicChoice {
  std::vector<int> nets;             // what the GPU sends by; empty when the host has none
  std::vector<std::string> reasons;  // likewise
};

// One choice for each of the host's gpus(), in their order. Nearest class first, then the fastest;
// GPUs that see the same equal NICs divide them. So no GPU crosses a socket while a NIC is near,
// and NICs that are near to no GPU (storage) are left alone where all have nearer ones. Not
// counted: virtual functions of a NIC that is there, a second interface of one port, and NICs of
// less than a tenth of the fastest one's rate.
std::vector<NicChoice> choose_nics(const HostPaths& paths);

}  // namespace gyre
