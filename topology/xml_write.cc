#include <map>

#include <pugixml.hpp>

#include "topology/xml.h"

namespace gyre {

namespace {

void put(pugi::xml_node element, const char* name, const std::string& value) {
  element.append_attribute(name) = value.c_str();
}

template <class T>
void put_unless(pugi::xml_node element, const char* name, const T& value, const T& absent) {
  if (value != absent) put(element, name, fmt::format("{}", value));
}

void put_hex(pugi::xml_node element, const char* name, std::uint64_t value, int digits) {
  put(element, name, fmt::format("0x{:0{}x}", value, digits));
}

void put_flag(pugi::xml_node element, const char* name, bool value) {
  put(element, name, value ? "1" : "0");
}

void write_gpu(pugi::xml_node pci, const Gpu& gpu) {
  pugi::xml_node element = pci.append_child("gpu");
  put_unless(element, "dev", gpu.dev, -1);
  put_unless(element, "sm", gpu.sm, 0);
  put_unless(element, "rank", gpu.rank, -1);
  put_flag(element, "gdr", gpu.gpu_direct);
  put_unless(element, "memory", gpu.memory_bytes, std::uint64_t{0});
  put_unless(element, "nvlink_gbps", gpu.nvlink_gbps, 0.0);
  for (const NvLink& link : gpu.nvlinks) {
    pugi::xml_node nvlink = element.append_child("nvlink");
    put(nvlink, "target", link.target);
    put(nvlink, "count", fmt::format("{}", link.count));
    put_hex(nvlink, "tclass", link.target_class, 6);
  }
  for (const C2cLink& link : gpu.c2c) {
    pugi::xml_node c2c = element.append_child("c2c");
    put(c2c, "bw", fmt::format("{}", link.mbps));
    put(c2c, "count", fmt::format("{}", link.count));
  }
}

void write_port(pugi::xml_node nic, const NicPort& port) {
  pugi::xml_node element = nic.append_child("net");
  put_unless(element, "name", port.name, std::string());
  put_unless(element, "dev", port.dev, -1);
  put_unless(element, "latency", port.latency_us, 0.0);
  put_unless(element, "speed", port.speed_mbps, 0);
  put_unless(element, "port", port.port, 0);
  if (port.guid != 0) put_hex(element, "guid", port.guid, 1);
  put_unless(element, "maxconn", port.connections_max, 0);
  put_flag(element, "gdr", port.gpu_direct);
  put_unless(element, "coll", port.collectives ? 1 : 0, 0);
  put_unless(element, "keep", port.keep ? 1 : 0, 0);
  put_unless(element, "rail", port.rail, -1);
  put_unless(element, "plane", port.plane, -1);
}

pugi::xml_node write_pci(pugi::xml_node parent, const PciSlot& slot) {
  pugi::xml_node element = parent.append_child("pci");
  put(element, "busid", slot.busid);
  put_hex(element, "class", slot.device_class, 6);
  put_hex(element, "vendor", slot.vendor, 4);
  put_hex(element, "device", slot.device, 4);
  put_hex(element, "subsystem_vendor", slot.subsystem_vendor, 4);
  put_hex(element, "subsystem_device", slot.subsystem_device, 4);
  put(element, "link_speed",
      slot.link_gts > 0 ? fmt::format("{} GT/s PCIe", slot.link_gts) : std::string());
  put(element, "link_width", fmt::format("{}", slot.link_width));
  return element;
}

// The element that holds what sits below this node.
pugi::xml_node write_node(pugi::xml_node parent, const Node& node) {
  pugi::xml_node pci = parent;
  if (!node.pci.busid.empty()) pci = write_pci(parent, node.pci);
  if (const Bridge* bridge = std::get_if<Bridge>(&node.device))
    for (const std::string& peer : bridge->peers) put(pci.append_child("pcilink"), "target", peer);
  // The class alone says that a device is a GPU; the element adds what is known of it.
  if (const Gpu* gpu = std::get_if<Gpu>(&node.device))
    if (*gpu != Gpu{} || !is_gpu_class(node.pci.device_class)) write_gpu(pci, *gpu);
  if (const NicPort* port = std::get_if<NicPort>(&node.device)) write_port(parent, *port);
  if (const Nic* nic = std::get_if<Nic>(&node.device)) {
    pugi::xml_node element = pci.append_child("nic");
    put_unless(element, "physical", nic->physical, std::string());
    return element;
  }
  return pci;
}

void write_host(pugi::xml_node system, const Host& host, bool several) {
  std::vector<pugi::xml_node> elements;
  for (const Node& node : host.kind->nodes()) {
    const Cpu* cpu = std::get_if<Cpu>(&node.device);
    if (cpu == nullptr) {
      elements.push_back(write_node(elements[static_cast<std::size_t>(node.parent)], node));
      continue;
    }
    pugi::xml_node element = elements.emplace_back(system.append_child("cpu"));
    if (host.hash != 0) put_hex(element, "host_hash", host.hash, 1);
    if (several || host.nvlink_domain >= 0)
      put(element, "clique", fmt::format("{}", host.nvlink_domain));
    put(element, "numaid", fmt::format("{}", cpu->numa));
    put_unless(element, "affinity", cpu->affinity, std::string());
    put_unless(element, "arch", cpu->arch, std::string());
    put_unless(element, "vendor", cpu->vendor, std::string());
    put_unless(element, "familyid", cpu->family, -1);
    put_unless(element, "modelid", cpu->model, -1);
  }
}

struct StringWriter : pugi::xml_writer {
  std::string text;
  void write(const void* data, std::size_t size) override {
    text.append(static_cast<const char*>(data), size);
  }
};

}  // namespace

std::string to_xml(const Machine& machine) {
  static const std::map<FabricKind, const char*> kFabrics = {
      {FabricKind::full, "full"}, {FabricKind::fat, "fat"}, {FabricKind::rails, "rails"}};
  pugi::xml_document document;
  pugi::xml_node system = document.append_child("system");
  put(system, "version", "1");
  const Fabric& fabric = machine.fabric();
  if (fabric != Fabric{}) {
    pugi::xml_node element = system.append_child("fabric");
    put(element, "kind", kFabrics.at(fabric.kind));
    put(element, "down", fmt::format("{}", fabric.down));
    put(element, "up", fmt::format("{}", fabric.up));
  }
  for (const Host& host : machine.hosts()) write_host(system, host, machine.host_count() > 1);
  StringWriter writer;
  document.save(writer, "  ", pugi::format_default | pugi::format_no_declaration);
  return std::move(writer.text);
}

}  // namespace gyre
