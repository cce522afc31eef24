#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <unordered_map>

#include "topology/xml.h"
#include "topology/xml_fields.h"

namespace gyre {

bool is_gpu_class(std::uint32_t device_class) {
  return device_class >> 8 == 0x0300 || device_class >> 8 == 0x0302;
}

bool is_nic_class(std::uint32_t device_class) { return device_class >> 16 == 0x02; }

namespace {

bool is(const pugi::xml_node& element, const char* name) {
  return std::strcmp(element.name(), name) == 0;
}

struct HostParts {
  std::uint64_t hash = 0;
  std::optional<int> clique;
  std::vector<Node> nodes;
};

// Walks the document once. Depth is bounded, and so recursion is.
class XmlReader {
 public:
  explicit XmlReader(XmlSource& source) : source_(source) {}
  Status read(const pugi::xml_node& system);
  Result<Machine> build() &&;

 private:
  Status read_cpu(const pugi::xml_node& element);
  Status read_fabric(const pugi::xml_node& element);
  Status read_pci(const pugi::xml_node& element, int parent, int depth);
  Status read_gpu(const pugi::xml_node& element, Gpu& gpu);
  Status read_nic(const pugi::xml_node& element, PciSlot slot, int parent);
  Result<NicPort> read_net(const pugi::xml_node& element);
  // Children of a cpu or of a bridge.
  Status read_below(const pugi::xml_node& element, int parent, int depth);
  Result<Device> leaf_device(const pugi::xml_node& element, const PciSlot& slot);
  Result<int> add(const pugi::xml_node& element, int parent, PciSlot slot, Device device);
  HostParts& host_of(std::uint64_t hash);

  XmlSource& source_;
  std::vector<HostParts> hosts_;
  std::unordered_map<std::uint64_t, std::size_t> places_;  // in hosts_, by hash
  HostParts* host_ = nullptr;                              // of the cpu that is being read
  Fabric fabric_;
};

HostParts& XmlReader::host_of(std::uint64_t hash) {
  const auto [known, fresh] = places_.try_emplace(hash, hosts_.size());
  if (fresh) hosts_.emplace_back(HostParts{hash, {}, {}});
  return hosts_[known->second];
}

Result<int> XmlReader::add(const pugi::xml_node& element, int parent, PciSlot slot, Device device) {
  if (host_->nodes.size() >= static_cast<std::size_t>(kHostNodesMax))
    return source_.error_at(element, fmt::format("more than {} nodes in a host", kHostNodesMax));
  host_->nodes.push_back({parent, std::move(slot), std::move(device)});
  return static_cast<int>(host_->nodes.size()) - 1;
}

Status XmlReader::read(const pugi::xml_node& system) {
  XmlFields fields(source_, system);
  int version = 0;
  GYRE_TRY(fields.need("version"));
  GYRE_TRY(fields.integer("version", 1, 1, version));
  fields.finish();
  for (const pugi::xml_node& child : system.children()) {
    if (is(child, "cpu")) {
      GYRE_TRY(read_cpu(child));
    } else if (is(child, "fabric")) {
      GYRE_TRY(read_fabric(child));
    } else if (child.type() == pugi::node_element) {
      source_.ignored(fmt::format("element {:.40}", child.name()), child);
    }
  }
  return {};
}

Status XmlReader::read_fabric(const pugi::xml_node& element) {
  static const std::map<std::string, FabricKind> kKinds = {
      {"full", FabricKind::full}, {"fat", FabricKind::fat}, {"rails", FabricKind::rails}};
  XmlFields fields(source_, element);
  std::string kind;
  GYRE_TRY(fields.need("kind"));
  GYRE_TRY(fields.text("kind", kind));
  GYRE_TRY(fields.integer("down", 1, 1024, fabric_.down));
  GYRE_TRY(fields.integer("up", 1, 1024, fabric_.up));
  fields.finish();
  const auto found = kKinds.find(kind);
  if (found == kKinds.end())
    return source_.error_at(element,
                            fmt::format("kind: '{}' found, expected full, fat or rails", kind));
  fabric_.kind = found->second;
  return {};
}

Status XmlReader::read_cpu(const pugi::xml_node& element) {
  XmlFields fields(source_, element);
  std::uint64_t hash = 0;
  Cpu cpu;
  GYRE_TRY(fields.need("numaid"));
  GYRE_TRY(fields.integer("numaid", -1, 65535, cpu.numa));
  GYRE_TRY(fields.word("host_hash", UINT64_MAX, hash));
  GYRE_TRY(fields.text("affinity", cpu.affinity));
  GYRE_TRY(fields.text("arch", cpu.arch));
  GYRE_TRY(fields.text("vendor", cpu.vendor));
  GYRE_TRY(fields.integer("familyid", -1, 65535, cpu.family));
  GYRE_TRY(fields.integer("modelid", -1, 65535, cpu.model));
  int clique = -2;
  GYRE_TRY(fields.integer("clique", -1, INT32_MAX, clique));
  fields.finish();
  host_ = &host_of(hash);
  if (clique != -2) {
    if (host_->clique.value_or(clique) != clique)
      return source_.error_at(element, "clique: differs from that of another cpu of this host");
    host_->clique = clique;
  }
  const int index = GYRE_TRY(add(element, -1, {}, std::move(cpu)));
  return read_below(element, index, 1);
}

Status XmlReader::read_below(const pugi::xml_node& element, int parent, int depth) {
  if (depth > kXmlDepthMax)
    return source_.error_at(element, fmt::format("nested deeper than {}", kXmlDepthMax));
  for (const pugi::xml_node& child : element.children()) {
    if (is(child, "pci")) {
      GYRE_TRY(read_pci(child, parent, depth));
    } else if (is(child, "nic") && is(element, "cpu")) {
      GYRE_TRY(read_nic(child, {}, parent));
    } else if (child.type() == pugi::node_element && !is(child, "pcilink")) {
      source_.ignored(fmt::format("element {:.40}", child.name()), child);
    }
  }
  return {};
}

// The device of a pci element without pci elements inside.
Result<Device> XmlReader::leaf_device(const pugi::xml_node& element, const PciSlot& slot) {
  const pugi::xml_node gpu_element = element.child("gpu");
  if (gpu_element || is_gpu_class(slot.device_class)) {
    Gpu gpu;
    if (gpu_element) GYRE_TRY(read_gpu(gpu_element, gpu));
    return Device(std::move(gpu));
  }
  if (slot.device_class == kNvSwitchClass) return Device(NvSwitch{});
  return Device(Bridge{});
}

Status XmlReader::read_pci(const pugi::xml_node& element, int parent, int depth) {
  XmlFields fields(source_, element);
  PciSlot slot;
  GYRE_TRY(fields.need("busid"));
  GYRE_TRY(fields.text("busid", slot.busid));
  if (slot.busid.empty()) return source_.error_at(element, "busid: expected a bus id");
  GYRE_TRY(fields.word("class", slot.device_class));
  GYRE_TRY(fields.word("vendor", slot.vendor));
  GYRE_TRY(fields.word("device", slot.device));
  GYRE_TRY(fields.word("subsystem_vendor", slot.subsystem_vendor));
  GYRE_TRY(fields.word("subsystem_device", slot.subsystem_device));
  GYRE_TRY(fields.link_speed("link_speed", slot.link_gts));
  GYRE_TRY(fields.integer("link_width", 0, 255, slot.link_width));
  // 63 and 255 are how kernels print a width that the device does not tell.
  if (slot.link_width > kPciLanesMax) slot.link_width = 0;
  fields.finish();
  const pugi::xml_node gpu = element.child("gpu"), nic = element.child("nic");
  const bool holds_pci = element.child("pci") || element.child("pcilink");
  if ((gpu && nic) || ((gpu || nic) && holds_pci))
    return source_.error_at(element, "expected one gpu, one nic, or further pci elements inside");
  for (const pugi::xml_node& one : {gpu, nic})
    if (one && one.next_sibling(one.name()))
      return source_.error_at(element, fmt::format("holds more than one {}", one.name()));
  if (nic || (!gpu && !holds_pci && is_nic_class(slot.device_class)))
    return read_nic(nic, std::move(slot), parent);
  Device device = Bridge{};
  if (!holds_pci) device = GYRE_TRY(leaf_device(element, slot));
  if (Bridge* bridge = std::get_if<Bridge>(&device)) {
    for (const pugi::xml_node& link : element.children("pcilink")) {
      XmlFields link_fields(source_, link);
      GYRE_TRY(link_fields.need("target"));
      GYRE_TRY(link_fields.text("target", bridge->peers.emplace_back()));
      link_fields.finish();
    }
  }
  const bool bridge = std::holds_alternative<Bridge>(device);
  const int index = GYRE_TRY(add(element, parent, std::move(slot), std::move(device)));
  return bridge ? read_below(element, index, depth + 1) : Status();
}

Status XmlReader::read_gpu(const pugi::xml_node& element, Gpu& gpu) {
  XmlFields fields(source_, element);
  GYRE_TRY(fields.integer("dev", -1, 65535, gpu.dev));
  GYRE_TRY(fields.integer("sm", 0, 9999, gpu.sm));
  GYRE_TRY(fields.integer("rank", -1, INT32_MAX, gpu.rank));
  GYRE_TRY(fields.flag("gdr", gpu.gpu_direct));
  GYRE_TRY(fields.word("memory", UINT64_MAX, gpu.memory_bytes));
  GYRE_TRY(fields.real("nvlink_gbps", gpu.nvlink_gbps));
  fields.finish();
  for (const pugi::xml_node& child : element.children()) {
    XmlFields link(source_, child);
    if (is(child, "nvlink")) {
      NvLink& nvlink = gpu.nvlinks.emplace_back();
      GYRE_TRY(link.need("target"));
      GYRE_TRY(link.text("target", nvlink.target));
      GYRE_TRY(link.integer("count", 1, 1024, nvlink.count));
      GYRE_TRY(link.word("tclass", nvlink.target_class));
      link.finish();
    } else if (is(child, "c2c")) {
      C2cLink& c2c = gpu.c2c.emplace_back();
      GYRE_TRY(link.need("bw"));
      GYRE_TRY(link.integer("bw", 1, INT32_MAX, c2c.mbps));
      GYRE_TRY(link.integer("count", 1, 1024, c2c.count));
      link.finish();
    } else if (child.type() == pugi::node_element) {
      source_.ignored(fmt::format("element {:.40}", child.name()), child);
    }
  }
  return {};
}

Status XmlReader::read_nic(const pugi::xml_node& element, PciSlot slot, int parent) {
  Nic nic;
  XmlFields fields(source_, element);
  GYRE_TRY(fields.text("physical", nic.physical));
  fields.finish();
  const int index = GYRE_TRY(add(element, parent, std::move(slot), std::move(nic)));
  for (const pugi::xml_node& child : element.children()) {
    if (is(child, "net")) {
      NicPort port = GYRE_TRY(read_net(child));
      GYRE_TRY(add(child, index, {}, std::move(port)));
    } else if (child.type() == pugi::node_element) {
      source_.ignored(fmt::format("element {:.40}", child.name()), child);
    }
  }
  return {};
}

Result<NicPort> XmlReader::read_net(const pugi::xml_node& element) {
  XmlFields fields(source_, element);
  NicPort port;
  GYRE_TRY(fields.text("name", port.name));
  GYRE_TRY(fields.integer("dev", -1, 65535, port.dev));
  GYRE_TRY(fields.integer("speed", 0, INT32_MAX, port.speed_mbps));
  GYRE_TRY(fields.integer("port", 0, 65535, port.port));
  GYRE_TRY(fields.word("guid", UINT64_MAX, port.guid));
  GYRE_TRY(fields.real("latency", port.latency_us));
  GYRE_TRY(fields.integer("maxconn", 0, INT32_MAX, port.connections_max));
  GYRE_TRY(fields.flag("gdr", port.gpu_direct));
  GYRE_TRY(fields.flag("coll", port.collectives));
  GYRE_TRY(fields.flag("keep", port.keep));
  GYRE_TRY(fields.integer("rail", -1, 65535, port.rail));
  GYRE_TRY(fields.integer("plane", -1, 65535, port.plane));
  fields.finish();
  return port;
}

Result<Machine> XmlReader::build() && {
  MachineBuilder builder;
  builder.set(fabric_);
  const int clique = hosts_.size() > 1 ? 0 : -1;
  for (HostParts& host : hosts_)
    builder.add(HostKind(std::move(host.nodes)), host.hash, host.clique.value_or(clique));
  return std::move(builder).build();
}

// Depth and number, before anything walks the document.
Status check_extent(const XmlSource& source, const pugi::xml_document& document) {
  int elements = 0, depth = 0;
  pugi::xml_node at = document.first_child();
  while (at) {
    if (++elements > kXmlElementsMax)
      return source.error_at(at, fmt::format("more than {} elements", kXmlElementsMax));
    if (at.first_child()) {
      at = at.first_child();
      if (++depth > kXmlDepthMax)
        return source.error_at(at, fmt::format("nested deeper than {}", kXmlDepthMax));
      continue;
    }
    while (at && !at.next_sibling()) {
      at = at.parent();
      --depth;
    }
    if (at) at = at.next_sibling();
  }
  return {};
}

}  // namespace

Result<DescribedMachine> parse_xml(std::string_view text, const std::string& name) {
  if (text.size() > kXmlBytesMax)
    return error(Code::invalid_argument, "{}: {} bytes, at most {} are read", name, text.size(),
                 kXmlBytesMax);
  XmlSource source(text, name);
  pugi::xml_document document;
  // No document types, hence no entities beyond XML's own five.
  const pugi::xml_parse_result parsed =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed)
    return error(Code::invalid_argument, "{}:{}: {}", name, source.line_of(parsed.offset),
                 parsed.description());
  GYRE_TRY(check_extent(source, document));
  const pugi::xml_node system = document.child("system");
  if (!system) return error(Code::invalid_argument, "{}:1: expected an element <system>", name);
  XmlReader reader(source);
  GYRE_TRY(reader.read(system));
  auto machine = std::move(reader).build();
  if (!machine) return error(Code::invalid_argument, "{}: {}", name, machine.error().text);
  DescribedMachine described{*std::move(machine), {}};
  if (std::string warning = source.warning(); !warning.empty())
    described.warnings.push_back(std::move(warning));
  return described;
}

Result<DescribedMachine> read_xml(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return error(Code::system, "open {}", path).because(errno);
  std::string text, piece(1 << 16, 0);
  // Stops beyond the limit, which parse_xml then names: a device may have no end.
  while (file && text.size() <= kXmlBytesMax) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof() && text.size() <= kXmlBytesMax) return error(Code::system, "read {}", path);
  return parse_xml(text, path);
}

}  // namespace gyre
