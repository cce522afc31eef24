// NCCL's topology XML, read into a Machine and written from one. Knows the format: elements system,
// cpu, pci, gpu, nvlink, c2c, nic, net. Does not know detection or bandwidth tables.
//
// Files are read as strangers' input: bounded in size, depth and number of elements, without
// entities. An error names file, line, element, attribute, what was found and what was expected.
// What is not known is skipped, and one warning lists all of it. Files of cloud machines leave out
// gpu, nvlink and net: a pci element whose class says GPU or NIC is one without them.
//
// Attributes beyond NCCL's, which its reader skips: gpu memory (bytes) and nvlink_gbps, nic
// physical (the physical function of a virtual one), cpu clique (NVLink domain of the host), and
// the element fabric kind="full|fat|rails" down="2" up="1" below system. Several host_hash values
// without a clique are one NVLink domain, as NCCL means them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/machine.h"

namespace gyre {

inline constexpr std::size_t kXmlBytesMax = std::size_t{64} << 20;
inline constexpr int kXmlDepthMax = 32;
inline constexpr int kXmlElementsMax = 1 << 20;
inline constexpr std::size_t kXmlTextMax = 4096;  // characters of one attribute

struct DescribedMachine {
  Machine machine;
  std::vector<std::string> warnings;
};

// `name` stands for the file in errors.
Result<DescribedMachine> parse_xml(std::string_view text, const std::string& name);
Result<DescribedMachine> read_xml(const std::string& path);

// What parse_xml reads back to an equal Machine.
std::string to_xml(const Machine& machine);

// PCI classes that the format gives a meaning.
bool is_gpu_class(std::uint32_t device_class);
bool is_nic_class(std::uint32_t device_class);
inline constexpr std::uint32_t kNvSwitchClass = 0x068000;

}  // namespace gyre
