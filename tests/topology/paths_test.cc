// Ways and choices on known machines. Each fixture's matrix and NICs stand in a text beside it;
// GYRE_BLESS=1 rewrites those texts. What is published of the machines is asserted by itself.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "topology/policy.h"
#include "topology/render.h"
#include "topology/synth.h"
#include "topology/xml.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> fixtures() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(GYRE_MACHINES))
    if (entry.path().extension() == ".xml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Machine machine_of(const std::string& name) {
  auto read = read_xml(std::string(GYRE_MACHINES "/") + name + ".xml");
  if (!read) {
    ADD_FAILURE() << read.error().text;
    return *parse_synth("1nic");
  }
  EXPECT_TRUE(read->warnings.empty()) << read->warnings[0];
  return std::move(read->machine);
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A machine asked by the names of its devices.
struct Asked {
  explicit Asked(const Machine& of) : machine(of), paths(machine) {}
  explicit Asked(const std::string& fixture) : Asked(machine_of(fixture)) {}

  Place place(const std::string& name) const {
    const auto found = find_place(machine, name);
    if (!found) ADD_FAILURE() << found.error().text;
    return found ? *found : Place{};
  }
  Path path(const std::string& a, const std::string& b) const {
    return paths.between(place(a), place(b));
  }
  std::string name(const std::string& a, const std::string& b) const {
    return to_text(path(a, b).path_class);
  }
  std::string nics(const std::string& gpu) const {
    const HostKind& host = machine.kind_of(0);
    const auto choices = choose_nics(paths.of(0));
    std::string text;
    for (std::size_t i = 0; i < choices.size(); ++i)
      for (const int net : choices[i].nets)
        if (host.gpus()[i] == place(gpu).node)
          text += (text.empty() ? "" : " ") + host.name_of(net);
    return text;
  }
  Decision peer(const std::string& a, const std::string& b) const {
    return peer_access(paths.of(0), place(a).node, place(b).node);
  }
  Decision direct(const std::string& gpu, const std::string& net) const {
    return direct_access(paths.of(0), place(gpu).node, place(net).node);
  }

  Machine machine;
  Paths paths;
};

TEST(Fixtures, ways_and_nics_are_as_written_beside_each) {
  for (const std::string& name : fixtures()) {
    const Asked asked(name);
    const std::string path = std::string(GYRE_MACHINES "/") + name + ".txt";
    const std::string found = matrix_text(asked.paths.of(0)) + "\n" + nics_text(asked.paths.of(0));
    if (std::getenv("GYRE_BLESS") != nullptr) std::ofstream(path) << found;
    EXPECT_EQ(file_text(path), found) << name;
  }
  EXPECT_GE(fixtures().size(), 22u);
}

TEST(Fixtures, writing_and_reading_changes_none) {
  for (const std::string& name : fixtures()) {
    const Machine machine = machine_of(name);
    const auto again = parse_xml(to_xml(machine), name);
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_TRUE(again->machine == machine) << name;
  }
}

// Whatever the machine: the same way in both directions, nothing better than the device itself, and
// no choice that a NIC of a better class beats unless it went to a GPU nearer to it.
TEST(Fixtures, laws_hold_on_all) {
  for (const std::string& name : fixtures()) {
    const Asked asked(name);
    const HostPaths& paths = asked.paths.of(0);
    const HostKind& host = paths.host();
    std::vector<int> ends(host.gpus().begin(), host.gpus().end());
    ends.insert(ends.end(), host.nets().begin(), host.nets().end());
    ends.insert(ends.end(), host.cpus().begin(), host.cpus().end());
    for (const int a : ends)
      for (const int b : ends) {
        const Path there = paths.between(a, b), back = paths.between(b, a);
        EXPECT_EQ(there.path_class, back.path_class) << name << host.name_of(a) << host.name_of(b);
        EXPECT_EQ(there.gbps, back.gbps) << name << host.name_of(a) << host.name_of(b);
        EXPECT_GT(there.gbps, 0) << name;
        EXPECT_EQ(there.path_class == PathClass::loc, a == b) << name;
      }
    const auto choices = choose_nics(paths);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      EXPECT_FALSE(choices[i].reasons.empty());
      for (const int net : choices[i].nets) {
        if (paths.own(host.gpus()[i], net).path_class != PathClass::sys) continue;
        for (const int other : host.nets())
          EXPECT_GE(paths.own(host.gpus()[i], other).path_class, PathClass::sys)
              << name << " crosses a socket though " << host.name_of(other) << " is near";
      }
    }
  }
}

TEST(Paths, dgx_1v_is_a_hybrid_cube) {
  const Asked dgx("dgx_1v");
  EXPECT_EQ(dgx.path("gpu0", "gpu3").links, 2);
  EXPECT_EQ(dgx.path("gpu0", "gpu3").gbps, 40);
  EXPECT_EQ(dgx.path("gpu0", "gpu1").gbps, 20);
  EXPECT_EQ(dgx.name("gpu0", "gpu5"), "NVB");
  EXPECT_EQ(dgx.path("gpu0", "gpu7").gbps, 40);  // through 4, two links each
  EXPECT_EQ(dgx.machine.kind_of(0).name_of(dgx.path("gpu0", "gpu7").via), "gpu4");
  EXPECT_EQ(dgx.name("gpu0", "mlx5_0"), "PIX");
  EXPECT_EQ(dgx.nics("gpu7"), "mlx5_3");
  EXPECT_TRUE(dgx.peer("gpu0", "gpu5").yes);
}

TEST(Paths, dgx_a100_pairs_have_two_nics_and_leave_storage_alone) {
  const Asked dgx("dgx_a100");
  EXPECT_EQ(dgx.path("gpu0", "gpu7").links, 12);
  EXPECT_EQ(dgx.path("gpu0", "gpu7").gbps, 240);
  EXPECT_EQ(dgx.name("gpu0", "mlx5_1"), "PXB");
  EXPECT_EQ(dgx.name("gpu0", "mlx5_8"), "SYS");
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(dgx.nics(fmt::format("gpu{}", i)), fmt::format("mlx5_{}", i));
}

TEST(Paths, dgx_h100_has_its_published_order_of_nics) {
  const Asked dgx("dgx_h100");
  const std::string expected[] = {"mlx5_0", "mlx5_3", "mlx5_4",  "mlx5_5",
                                  "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11"};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(dgx.nics(fmt::format("gpu{}", i)), expected[i]);
  EXPECT_NEAR(dgx.path("gpu2", "gpu5").gbps, 370.8, 1e-9);
  EXPECT_EQ(dgx.name("gpu0", "mlx5_6"), "PXN");
  EXPECT_EQ(dgx.machine.kind_of(0).name_of(dgx.path("gpu0", "mlx5_6").via), "gpu4");
  EXPECT_EQ(dgx.name("gpu0", "mlx5_1"), "PHB");
}

TEST(Paths, dgx_2_pairs_are_crosswise_near) {
  const Asked dgx("dgx_2");
  EXPECT_EQ(dgx.name("gpu0", "mlx5_0"), "PIX");
  EXPECT_EQ(dgx.name("gpu0", "mlx5_1"), "PXB");
  EXPECT_EQ(dgx.name("gpu2", "mlx5_0"), "PXB");
  EXPECT_EQ(dgx.path("gpu0", "gpu15").links, 6);
}

TEST(Paths, grace_reaches_its_nics_over_c2c) {
  const Asked tray("gb200_nvl72_tray");
  EXPECT_EQ(tray.name("gpu0", "cpu0"), "C2C");
  EXPECT_EQ(tray.path("gpu0", "cpu0").gbps, 450);
  EXPECT_EQ(tray.name("gpu0", "cpu1"), "SYS");
  EXPECT_EQ(tray.name("gpu0", "mlx5_0"), "P2C");
  EXPECT_NEAR(tray.path("gpu0", "gpu3").gbps, 18 * 40.1, 1e-9);
  EXPECT_EQ(tray.nics("gpu1"), "mlx5_1");
  EXPECT_TRUE(tray.direct("gpu0", "mlx5_0").yes);
}

TEST(Paths, pcie_boxes_cross_sockets) {
  const Asked box("l40s");
  EXPECT_EQ(box.name("gpu0", "gpu1"), "PHB");
  EXPECT_EQ(box.name("gpu0", "gpu2"), "SYS");
  EXPECT_EQ(box.name("mlx5_0", "mlx5_1"), "PIX");
  EXPECT_NEAR(box.path("gpu0", "gpu2").gbps, 22 * 5.0 / 6, 1e-9);  // socket link, less a sixth
  const Asked bridged("a100_pcie_bridges");
  EXPECT_EQ(bridged.path("gpu6", "gpu7").links, 12);
  EXPECT_EQ(bridged.name("gpu1", "gpu2"), "PHB");
}

TEST(Paths, hosts_join_over_fabric_or_nvlink_domain) {
  const Asked cluster(*parse_synth("4x(8gpu@nvs450 8nic@50) fat2:1"));
  EXPECT_EQ(cluster.name("gpu0", "host3/gpu7"), "NET");
  EXPECT_EQ(cluster.path("gpu0", "host3/gpu7").gbps, 24);  // 48 of PCIe, halved above the leaves
  EXPECT_EQ(cluster.path("host1/nic0", "host2/nic1").gbps, 25);
  const Asked rails(*parse_synth("2x(8gpu@nvs450 8nic@50) rails"));
  EXPECT_EQ(rails.name("nic0", "host1/nic0"), "NET");
  EXPECT_EQ(rails.name("nic0", "host1/nic1"), "DIS");
  EXPECT_EQ(rails.name("gpu0", "host1/gpu1"), "NET");
  const Asked racks(*parse_synth("4x(4gpu@nvs18x40 4nic@50) domain2"));
  EXPECT_EQ(racks.path("gpu0", "host1/gpu3").gbps, 720);
  EXPECT_EQ(racks.name("gpu0", "host2/gpu0"), "NET");
  EXPECT_EQ(Asked(*parse_synth("2x(2gpu)")).name("gpu0", "host1/gpu0"), "DIS");
}

TEST(Paths, switches_joined_beside_the_tree_are_pxb) {
  const auto read = parse_xml(
      "<system version='1'><cpu numaid='0'><pci busid='a' class='0x060400'><pcilink target='b'/>"
      "<pci busid='g0' class='0x030200'/></pci></cpu><cpu numaid='1'>"
      "<pci busid='b' class='0x060400'><pci busid='g1' class='0x030200'/></pci></cpu></system>",
      "m.xml");
  ASSERT_TRUE(read) << read.error().text;
  const Asked asked(read->machine);
  EXPECT_EQ(asked.name("gpu0", "gpu1"), "PXB");
  EXPECT_EQ(asked.name("gpu1", "gpu0"), "PXB");
}

TEST(Policy, equal_nics_are_divided) {
  const Asked p5("aws_p5");
  EXPECT_EQ(p5.nics("gpu1"), "rdmap97s0 rdmap98s0 rdmap99s0 rdmap100s0");
  const Asked nd("azure_ndv4");
  EXPECT_NE(nd.nics("gpu0"), nd.nics("gpu1"));
  const Asked few("two_nics_eight_gpus");
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(few.nics(fmt::format("gpu{}", i)), i < 4 ? "mlx5_0" : "mlx5_1");
}

TEST(Policy, far_gpus_do_not_push_near_ones_to_one_nic) {
  const Asked box("l40s");
  EXPECT_EQ(box.nics("gpu2"), "mlx5_0");
  EXPECT_EQ(box.nics("gpu3"), "mlx5_1");
}

TEST(Policy, storage_and_management_are_left_alone) {
  const Asked box("storage_nics");
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(box.nics(fmt::format("gpu{}", i)), fmt::format("mlx5_{}", i));
}

TEST(Policy, virtual_functions_and_second_names_are_not_counted) {
  const Asked box("virtual_functions");
  EXPECT_EQ(box.nics("gpu0"), "mlx5_0");
  EXPECT_EQ(box.nics("gpu1"), "mlx5_3");
}

TEST(Policy, a_gpu_without_a_near_nic_takes_a_free_one_before_anothers) {
  const auto read = parse_xml(
      "<system version='1'><cpu numaid='0'><pci busid='s' class='0x060400'>"
      "<pci busid='g0' class='0x030200'/><pci busid='n0' class='0x020700'/></pci>"
      "<pci busid='g1' class='0x030200'/><pci busid='n1' class='0x020700'/></cpu></system>",
      "m.xml");
  ASSERT_TRUE(read) << read.error().text;
  const Asked asked(read->machine);
  EXPECT_EQ(asked.nics("gpu0"), "net0");
  EXPECT_EQ(asked.nics("gpu1"), "net1");
}

TEST(Policy, peer_access_follows_links_and_drivers) {
  EXPECT_TRUE(Asked("dgx_h100").peer("gpu0", "gpu7").yes);
  EXPECT_FALSE(Asked("l40s").peer("gpu0", "gpu1").yes);
  EXPECT_TRUE(Asked("uneven_pcie").peer("gpu0", "gpu3").yes);
  const Decision refused = Asked("rtx4090x8").peer("gpu0", "gpu1");
  EXPECT_FALSE(refused.yes);
  EXPECT_NE(refused.reasons.at(0).find("0x2684"), std::string::npos);
  const auto amd = parse_xml(
      "<system version='1'><cpu numaid='0' vendor='AuthenticAMD'>"
      "<pci busid='a' class='0x030200'/><pci busid='b' class='0x030200'/></cpu></system>",
      "m.xml");
  EXPECT_TRUE(Asked(amd->machine).peer("gpu0", "gpu1").yes);
}

TEST(Policy, gpu_direct_needs_both_ends_and_a_near_way) {
  const Asked dgx("dgx_h100");
  EXPECT_TRUE(dgx.direct("gpu0", "mlx5_0").yes);
  EXPECT_TRUE(dgx.direct("gpu0", "mlx5_11").yes);  // lent by gpu7
  EXPECT_FALSE(dgx.direct("gpu0", "mlx5_1").yes);  // through the CPU
  EXPECT_FALSE(Asked("vm_flat").direct("gpu0", "eth0").yes);
  EXPECT_FALSE(Asked("storage_nics").direct("gpu0", "eno1").yes);
}

TEST(Render, why_gives_class_rate_and_reasons) {
  const Asked dgx("dgx_h100");
  const std::string text = why_text(dgx.paths, dgx.place("gpu0"), dgx.place("mlx5_1"));
  EXPECT_EQ(text.substr(0, text.find('\n')), "gpu0 to mlx5_1: PHB, 48 GB/s each way");
  EXPECT_NE(text.find("GPUDirect: no, PHB"), std::string::npos);
  EXPECT_NE(text.find("mlx5_1 left alone: PHB, and PIX is nearer"), std::string::npos);
}

TEST(Render, names_and_bus_ids_find_devices) {
  const Asked dgx("dgx_h100");
  EXPECT_EQ(dgx.place("0000:19:00.0").node, dgx.place("gpu0").node);
  const auto wrong = find_place(dgx.machine, "gpu8");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().text.find("'gpu8' is not known; there are gpu0"), std::string::npos);
  EXPECT_FALSE(find_place(dgx.machine, "host1/gpu0"));
}

}  // namespace
}  // namespace gyre
