// Detection on machines that are told to hwloc and on a made-up sysfs.
#include "topology/detect.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "topology/bandwidth.h"
#include "topology/paths.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

// A folder of files, gone with the object.
class Sysfs {
 public:
  Sysfs() : root_(testing::TempDir() + "gyre_sysfs_" + std::to_string(::getpid())) {
    fs::create_directories(root_);
  }
  ~Sysfs() { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& line) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << line << "\n";
  }
  void link(const std::string& path, const std::string& target) const {
    fs::create_directories((root_ / path).parent_path());
    fs::create_symlink(target, root_ / path);
  }
  std::string root() const { return root_; }

 private:
  fs::path root_;
};

std::string sets(const char* cpus) {
  return fmt::format("cpuset='{0}' complete_cpuset='{0}' nodeset='{0}' complete_nodeset='{0}'",
                     cpus);
}

std::string package(int number, const char* set, const std::string& io) {
  return fmt::format(
      "<object type='Package' os_index='{0}' {1} gp_index='{2}'>"
      "<info name='CPUVendor' value='GenuineIntel'/><info name='CPUFamilyNumber' value='6'/>"
      "<info name='CPUModelNumber' value='143'/>"
      "<object type='NUMANode' os_index='{0}' {1} gp_index='{3}' local_memory='1048576'/>"
      "<object type='Core' os_index='{0}' {1} gp_index='{4}'>"
      "<object type='PU' os_index='{0}' {1} gp_index='{5}'/></object>{6}</object>",
      number, sets(set), number * 10 + 2, number * 10 + 3, number * 10 + 4, number * 10 + 5, io);
}

// Socket 1 holds a switch with a GPU and two NIC functions, and a disk on a port of its own.
std::string two_sockets() {
  const std::string io =
      "<object type='Bridge' gp_index='50' bridge_type='0-1' depth='0' bridge_pci='0000:[80-8f]'>"
      "<object type='Bridge' gp_index='51' bridge_type='1-1' depth='1' bridge_pci='0000:[81-83]'"
      " pci_busid='0000:80:01.0' pci_type='0604 [8086:352a] [0000:0000] 04' pci_link_speed='63'>"
      "<object type='PCIDev' gp_index='52' pci_busid='0000:81:00.0'"
      " pci_type='0302 [10de:2330] [10de:16c1] a1' pci_link_speed='63'/>"
      "<object type='PCIDev' gp_index='53' pci_busid='0000:82:00.0'"
      " pci_type='0207 [15b3:1021] [15b3:0023] 00' pci_link_speed='63'/>"
      "<object type='PCIDev' gp_index='54' pci_busid='0000:82:00.1'"
      " pci_type='0207 [15b3:101e] [15b3:0023] 00' pci_link_speed='63'/></object>"
      "<object type='Bridge' gp_index='55' bridge_type='1-1' depth='1' bridge_pci='0000:[84-84]'"
      " pci_busid='0000:80:02.0' pci_type='0604 [8086:352b] [0000:0000] 04' pci_link_speed='4'>"
      "<object type='PCIDev' gp_index='56' pci_busid='0000:84:00.0'"
      " pci_type='0108 [144d:a80a] [144d:a801] 00' pci_link_speed='4'/></object></object>";
  // hwloc's own reader, the one that is always there, wants lines for the head and double quotes.
  std::string out =
      "<?xml version='1.0' encoding='UTF-8'?>\n<!DOCTYPE topology SYSTEM 'hwloc2.dtd'>\n"
      "<topology version='2.0'>\n<object type='Machine' os_index='0' " +
      sets("0x3") + " allowed_cpuset='0x3' allowed_nodeset='0x3' gp_index='1'>" +
      package(0, "0x1", "") + package(1, "0x2", io) + "</object></topology>\n";
  std::replace(out.begin(), out.end(), '\'', '"');
  return out;
}

TEST(Detect, devices_sit_where_hwloc_has_them_and_rates_come_from_sysfs) {
  const Sysfs sysfs;
  const std::string devices = "bus/pci/devices/";
  for (const char* device : {"0000:80:01.0", "0000:81:00.0", "0000:82:00.0"}) {
    sysfs.put(devices + device + "/max_link_speed", "32.0 GT/s PCIe");
    sysfs.put(devices + device + "/max_link_width", "16");
  }
  sysfs.put(devices + "0000:82:00.0/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");
  sysfs.put(devices + "0000:82:00.0/infiniband/mlx5_0/node_guid", "506b:4b03:00cb:f1a2");
  sysfs.put(devices + "0000:82:00.0/net/ibp130s0/speed", "400000");
  sysfs.put(devices + "0000:82:00.1/net/ibp130s0v0/speed", "-1");
  sysfs.link(devices + "0000:82:00.1/physfn", "../0000:82:00.0");
  const auto found = detect({.sysfs = sysfs.root(), .hwloc_xml = two_sockets()});
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_TRUE(found->warnings.empty());
  const HostKind& host = found->machine.kind_of(0);
  ASSERT_EQ(host.cpus().size(), 2u);
  EXPECT_EQ(std::get<Cpu>(host.node(host.cpus()[1]).device).model, 143);
  ASSERT_EQ(host.gpus().size(), 1u);
  EXPECT_EQ(host.cpu_of(host.gpus()[0]), host.cpus()[1]);
  EXPECT_EQ(pci_gbps(host.node(host.gpus()[0]).pci), 48);
  ASSERT_EQ(host.nets().size(), 2u);  // the Ethernet name of an RDMA port is not a second one
  EXPECT_EQ(host.name_of(host.nets()[0]), "mlx5_0");
  EXPECT_EQ(net_gbps(host, host.nets()[0]), 50);
  EXPECT_EQ(std::get<NicPort>(host.node(host.nets()[0]).device).guid, 0x506b4b0300cbf1a2u);
  EXPECT_EQ(std::get<Nic>(host.node(host.node(host.nets()[1]).parent).device).physical,
            "0000:82:00.0");
  const HostPaths paths(found->machine.hosts()[0].kind);
  EXPECT_EQ(paths.own(host.gpus()[0], host.nets()[0]).path_class, PathClass::pix);
  EXPECT_EQ(host.find_busid("0000:84:00.0"), -1);  // the disk
  EXPECT_EQ(host.find_busid("0000:80:02.0"), -1);  // and the bridge that leads to it alone
}

TEST(Detect, hidden_devices_give_a_flat_machine_and_one_warning) {
  const auto found = detect({.sysfs = "/nowhere", .hwloc_synthetic = "numa:2 core:4 pu:1"});
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(found->machine.kind_of(0).cpus().size(), 2u);
  EXPECT_EQ(found->machine.kind_of(0).size(), 2);
  ASSERT_EQ(found->warnings.size(), 1u);
  EXPECT_NE(found->warnings[0].find("0 network interfaces"), std::string::npos);
}

TEST(Detect, interfaces_without_pci_stand_on_the_first_cpu) {
  const Sysfs sysfs;
  sysfs.put("class/net/eth0/speed", "100000");
  sysfs.put("class/net/eth0/flags", "0x1003");
  sysfs.put("class/net/lo/flags", "0x9");
  sysfs.put("class/net/ifb0/flags", "0x82");  // down
  const auto found = detect({.sysfs = sysfs.root(), .hwloc_synthetic = "numa:2 core:4 pu:1"});
  ASSERT_TRUE(found) << found.error().text;
  const HostKind& host = found->machine.kind_of(0);
  ASSERT_EQ(host.nets().size(), 1u);
  EXPECT_EQ(host.name_of(host.nets()[0]), "eth0");
  EXPECT_EQ(host.cpu_of(host.nets()[0]), host.cpus()[0]);
  EXPECT_EQ(net_gbps(host, host.nets()[0]), 12.5);
}

TEST(Detect, a_virtual_nic_has_its_interface_one_folder_lower) {
  const Sysfs sysfs;
  sysfs.put("bus/pci/devices/0000:82:00.0/virtio0/net/eth0/speed", "-1");
  sysfs.put("class/net/eth0/flags", "0x1003");
  const auto found = detect({.sysfs = sysfs.root(), .hwloc_xml = two_sockets()});
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_TRUE(found->warnings.empty());
  const HostKind& host = found->machine.kind_of(0);
  ASSERT_EQ(host.nets().size(), 2u);
  EXPECT_EQ(host.find_busid("0000:82:00.0"), host.node(host.nets()[1]).parent);
  EXPECT_EQ(host.name_of(host.nets()[1]), "eth0");
}

TEST(Detect, the_machine_of_this_test_is_sound_and_survives_xml) {
  const auto found = detect({});
  ASSERT_TRUE(found) << found.error().text;
  const auto again = parse_xml(to_xml(found->machine), "m.xml");
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_TRUE(again->machine == found->machine);
}

TEST(Detect, what_hwloc_cannot_read_is_told) {
  EXPECT_FALSE(detect({.hwloc_xml = "<topology"}));
  EXPECT_FALSE(detect({.hwloc_synthetic = "nonsense:x"}));
}

}  // namespace
}  // namespace gyre
