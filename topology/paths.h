// How near and how fast two devices are to each other. Knows the classes of ways and the links they
// take. Does not know what a way may be used for (policy).
//
// The best way by class is the way; among equal classes the faster one. GPUs, CPUs and nets (ports,
// or NICs without a described port) are ends.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "topology/machine.h"

namespace gyre {

// Best first. `loc` the same device; `nvl` NVLink, through switches or not; `nvb` NVLink through
// one other GPU; `c2c` GPU and its CPU by C2C; `pix` at most one PCIe bridge; `pxb` several, no
// CPU; `p2c` C2C to the CPU, then its PCIe; `pxn` NVLink to a GPU near the NIC; `phb` through one
// CPU; `sys` from one CPU to another; `net` over the fabric; `dis` no way.
enum class PathClass { loc, nvl, nvb, c2c, pix, pxb, p2c, pxn, phb, sys, net, dis };
const char* to_text(PathClass path_class);

struct Path {
  PathClass path_class = PathClass::dis;
  double gbps = 0;
  int links = 0;  // NVLinks side by side, of `nvl` alone
  int via = -1;   // the GPU in between, of `nvb` and `pxn` alone

  bool better_than(const Path& other) const {
    return path_class != other.path_class ? path_class < other.path_class : gbps > other.gbps;
  }
};

// All pairs of ends of one kind of host.
class HostPaths {
 public:
  explicit HostPaths(std::shared_ptr<const HostKind> host);
  const HostKind& host() const { return *host_; }
  // `a` and `b` are ends. What the devices reach by themselves.
  const Path& own(int a, int b) const;
  // The same, but a GPU may lend another its way to a net.
  Path between(int a, int b) const;

 private:
  std::size_t slot(int a, int b) const;
  void fill_tree();
  void fill_nvlink();
  Path lend(int gpu, int net) const;

  std::shared_ptr<const HostKind> host_;
  std::vector<int> ends_;
  std::vector<int> end_of_node_;  // -1: not an end
  std::vector<Path> table_;       // ends x ends, symmetric
};

// An end of a machine.
struct Place {
  int host = 0, node = 0;
};

// All ends of a machine. Each kind of host has one table; ways between hosts are found when asked.
class Paths {
 public:
  explicit Paths(const Machine& machine);
  const Machine& machine() const { return machine_; }
  const HostPaths& of(int host) const { return *tables_.at(&machine_.kind_of(host)); }
  Path between(Place a, Place b) const;

 private:
  Path over_fabric(Place a, Place b) const;
  Machine machine_;
  std::map<const HostKind*, std::unique_ptr<HostPaths>> tables_;
};

// GB/s of all NVLinks from this GPU to switches; 0 without. `links` counts them.
double switched_gbps(const HostKind& host, int gpu, int* links = nullptr);

}  // namespace gyre
