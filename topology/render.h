// A Machine as text for a terminal: the tree, the matrix of ways, NICs chosen, and why. Knows words
// and columns. Does not know how ways or choices are found.
#pragma once

#include <string>
#include <string_view>

#include "topology/paths.h"

namespace gyre {

// Every kind of host once, with how many hosts are like it, and the fabric.
std::string tree_text(const Machine& machine);

// GPUs and nets against each other, each GPU's CPU, in the manner of `nvidia-smi topo -m`: NV and a
// number is that many NVLinks, X the device itself. PXN stands where a GPU can lend its way.
std::string matrix_text(const HostPaths& paths);

// "gpu0 -> mlx5_0" for each GPU.
std::string nics_text(const HostPaths& paths);

// The end of this name: "gpu0", "mlx5_0", "cpu1", a bus id; "host3/gpu0" on another host than 0.
Result<Place> find_place(const Machine& machine, std::string_view name);

// The way between two ends, and what policy decides of it.
std::string why_text(const Paths& paths, Place a, Place b);

}  // namespace gyre
