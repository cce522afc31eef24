// What a Machine promises, and that check() finds each promise broken.
#include <gtest/gtest.h>

#include "topology/bandwidth.h"
#include "topology/machine.h"
#include "topology/synth.h"

namespace gyre {
namespace {

PciSlot at(const std::string& busid) {
  PciSlot slot;
  slot.busid = busid;
  return slot;
}

Gpu gpu_with(int dev, std::vector<NvLink> links) {
  Gpu gpu;
  gpu.dev = dev;
  gpu.nvlinks = std::move(links);
  return gpu;
}

Cpu numa(int number) {
  Cpu cpu;
  cpu.numa = number;
  return cpu;
}

// Two GPUs with an NVLink between them below one CPU.
std::vector<Node> pair() {
  return {{-1, {}, numa(0)},
          {0, at("a"), gpu_with(0, {{"b", 1, 0x030200}})},
          {0, at("b"), gpu_with(1, {{"a", 1, 0x030200}})}};
}

std::string refusal(std::vector<Node> nodes) {
  MachineBuilder builder;
  builder.add(HostKind(std::move(nodes)));
  const auto machine = std::move(builder).build();
  return machine ? "" : machine.error().text;
}

TEST(Machine, a_sound_graph_is_accepted) { EXPECT_EQ(refusal(pair()), ""); }

TEST(Machine, each_broken_invariant_is_named_with_its_node) {
  const auto broken = [](auto&& change) {
    std::vector<Node> nodes = pair();
    change(nodes);
    return refusal(nodes);
  };
  EXPECT_EQ(broken([](auto& n) { n[2].pci.busid = "a"; }).substr(0, 5), "gpu1:");
  EXPECT_NE(broken([](auto& n) { n[2].pci.busid = "a"; }).find("bus id a is used twice"),
            std::string::npos);
  EXPECT_NE(broken([](auto& n) { n[2].parent = 1; }).find("gpu1: a gpu cannot sit below gpu0"),
            std::string::npos);
  EXPECT_NE(broken([](auto& n) { n[1].parent = 2; }).find("must stand before"), std::string::npos);
  EXPECT_NE(broken([](auto& n) { std::get<Gpu>(n[2].device).dev = 0; }).find("dev 0 is used twice"),
            std::string::npos);
  EXPECT_NE(broken([](auto& n) {
              std::get<Gpu>(n[2].device).nvlinks[0].count = 2;
            }).find("gpu0: 1 NVLinks to gpu1 but 2 back"),
            std::string::npos);
  EXPECT_NE(broken([](auto& n) {
              std::get<Gpu>(n[1].device).nvlinks[0].target = "a";
            }).find("leads back to itself"),
            std::string::npos);
  EXPECT_NE(broken([](auto& n) { std::get<Gpu>(n[2].device).dev = -1; }).find("all GPUs"),
            std::string::npos);
  EXPECT_NE(broken([](auto& n) {
              n.push_back({-1, {}, numa(0)});
            }).find("NUMA node 0"),
            std::string::npos);
  EXPECT_NE(broken([](auto& n) {
              n.push_back({0, {}, NicPort{}});
            }).find("cannot sit below cpu0"),
            std::string::npos);
  EXPECT_NE(broken([](auto& n) { n[1].pci.link_width = 64; }).find("gpu0: PCI link"),
            std::string::npos);
  EXPECT_NE(broken([](auto& n) {
              n.push_back({-1, {}, numa(1)});
              n.push_back({0, at("c"), Bridge{}});
            }).find("bridge c: its parent's other devices"),
            std::string::npos);
  EXPECT_NE(refusal({}).find("no cpu"), std::string::npos);
}

TEST(Machine, equal_hosts_share_one_description) {
  MachineBuilder builder;
  for (std::uint64_t hash = 1; hash <= 1250; ++hash) builder.add(HostKind(pair()), hash);
  const auto machine = std::move(builder).build();
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->kind_count(), 1);
  EXPECT_EQ(machine->gpu_count(), 2500);
  EXPECT_EQ(machine->hosts()[0].kind.get(), machine->hosts()[1249].kind.get());
}

TEST(Machine, two_hosts_of_one_hash_are_refused) {
  MachineBuilder builder;
  builder.add(HostKind(pair()), 7);
  builder.add(HostKind(pair()), 7);
  EXPECT_FALSE(std::move(builder).build());
}

TEST(Machine, more_than_its_limits_is_refused) {
  const auto many = [](int count, const Device& device) {
    std::vector<Node> nodes = {{-1, {}, numa(0)}};
    for (int i = 0; i < count; ++i) nodes.push_back({0, at(std::to_string(i)), device});
    return refusal(std::move(nodes));
  };
  EXPECT_EQ(many(kHostGpusMax, Gpu{}), "");
  EXPECT_NE(many(kHostGpusMax + 1, Gpu{}).find("257 GPUs, at most 256"), std::string::npos);
  EXPECT_EQ(many(kHostEndsMax - 1, Nic{}), "");
  EXPECT_NE(many(kHostEndsMax, Nic{}).find("at most 2048"), std::string::npos);
  EXPECT_NE(many(kHostNodesMax, Bridge{}).find("65537 nodes"), std::string::npos);
  MachineBuilder hosts;
  hosts.add_many(HostKind(pair()), kHostsMax + 1, 0);
  EXPECT_FALSE(std::move(hosts).build());
  MachineBuilder kinds;
  for (int i = 0; i <= kHostKindsMax; ++i)
    kinds.add(HostKind({{-1, {}, numa(i)}}), static_cast<std::uint64_t>(i));
  EXPECT_FALSE(std::move(kinds).build());
}

TEST(Bandwidth, follows_generation_and_lanes) {
  PciSlot slot = at("a");
  slot.link_width = 16;
  for (const auto& [rate, gbps] : {std::pair{8.0, 12.0}, {16.0, 24.0}, {32.0, 48.0}, {0.0, 12.0}}) {
    slot.link_gts = rate;
    EXPECT_EQ(pci_gbps(slot), gbps);
  }
  slot = at("b");
  slot.link_gts = 2.5;
  slot.link_width = 1;
  EXPECT_EQ(pci_gbps(slot), 0.1875);
  Gpu gpu;
  for (const auto& [sm, gbps] : {std::pair{70, 20.0}, {80, 20.0}, {90, 20.6}, {103, 40.1}}) {
    gpu.sm = sm;
    EXPECT_EQ(nvlink_gbps(gpu), gbps);
  }
}

TEST(Bandwidth, knows_sockets_in_every_spelling) {
  Cpu cpu;
  cpu.vendor = "AuthenticAMD";
  for (const auto& [written, family] :
       {std::pair{23, 23}, {25, 25}, {143, 23}, {175, 25}, {15, 15}}) {
    cpu.family = written;
    EXPECT_EQ(cpu_family(cpu), family);
  }
  EXPECT_EQ(socket_gbps(cpu), 16);
  cpu.vendor = "GenuineIntel";
  for (const auto& [model, gbps] : {std::pair{79, 6.0}, {85, 10.0}, {143, 22.0}, {207, 40.0}}) {
    cpu.model = model;
    EXPECT_EQ(socket_gbps(cpu), gbps);
  }
}

TEST(Synth, reads_a_cluster_of_ten_thousand) {
  const auto machine = parse_synth("1250x(8gpu@nvs450 8nic@50) fat2:1");
  ASSERT_TRUE(machine) << machine.error().text;
  EXPECT_EQ(machine->gpu_count(), 10000);
  EXPECT_EQ(machine->host_count(), 1250);
  EXPECT_EQ(machine->kind_count(), 1);
  EXPECT_EQ(machine->fabric().down, 2);
  const HostKind& host = machine->kind_of(1249);
  ASSERT_EQ(host.nets().size(), 8u);
  EXPECT_EQ(net_gbps(host, host.nets()[7]), 50);
  const Gpu& gpu = std::get<Gpu>(host.node(host.gpus()[3]).device);
  EXPECT_EQ(nvlink_gbps(gpu) * gpu.nvlinks[0].count, 450);
  // GPU and NIC of equal number share a switch.
  EXPECT_EQ(host.node(host.gpus()[5]).parent, host.node(host.node(host.nets()[5]).parent).parent);
}

TEST(Synth, reads_every_part) {
  for (const char* line : {"8gpu", "(4gpu@mesh2x25)", "4gpu@pairs12x25 2cpu pcie4 sm80 2nic",
                           "1nic", "18x(4gpu@nvs18x40.1 4nic@50 2cpu) rails domain18",
                           "2x(3gpu@nvs1 2nic@0.125 2cpu) full", "  2cpu  8gpu "}) {
    const auto machine = parse_synth(line);
    EXPECT_TRUE(machine) << line << ": " << machine.error().text;
  }
  EXPECT_EQ(parse_synth("18x(4gpu@nvs25) domain9")->hosts()[17].nvlink_domain, 1);
  EXPECT_EQ(parse_synth("4gpu 1cpu")->kind_of(0).cpus().size(), 1u);
}

TEST(Synth, errors_give_column_and_expectation) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "column 1: expected a part"},
      {"8gpus", "column 5: expected a part"},
      {"8gpu@450", "column 6: expected nvs, mesh or pairs, found '450'"},
      {"8gpu@nvs", "column 9: expected a rate in GB/s"},
      {"0gpu", "column 1: expected a count from 1 to 256"},
      {"2x(8gpu", "column 8: expected ')'"},
      {"2x(8gpu) thin", "column 10: expected fat, full, rails"},
      {"2x(8gpu) fat2", "column 14: expected ':', the line ends here"},
      {"8gpu 8gpu", "column 10: expected GPUs only once"},
      {"999999x(8gpu)", "column 1: expected a number of hosts from 1 to 100000"},
      {"8nic@1e9", "column 7: expected a part"},
      {"8xpu", "column 2: expected gpu, nic or cpu"},
  };
  for (const auto& [line, expected] : kCases) {
    const auto machine = parse_synth(line);
    ASSERT_FALSE(machine) << line;
    EXPECT_TRUE(machine.error().text.starts_with(expected)) << line << ": " << machine.error().text;
  }
}

}  // namespace
}  // namespace gyre
