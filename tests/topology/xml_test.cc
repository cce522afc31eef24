// The XML: what is read, what is refused and how, and that writing loses nothing.
#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "topology/synth.h"
#include "topology/xml.h"

namespace gyre {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string refusal(const std::string& text) {
  const auto read = parse_xml(text, "m.xml");
  return read ? "" : read.error().text;
}

std::string around(const std::string& inner) {
  return "<system version=\"1\">\n<cpu numaid=\"0\">\n" + inner + "\n</cpu>\n</system>\n";
}

TEST(Xml, reads_what_a_dump_holds) {
  const auto read = parse_xml(
      around(R"(<pci busid="0000:03:00.0" class="0x060400" link_speed="8 GT/s" link_width="16">
  <pci busid="0000:06:00.0" class="0x030200" vendor="0x10de" link_speed="16.0 GT/s PCIe">
    <gpu dev="0" sm="70" rank="3" gdr="1"><nvlink target="0000:07:00.0" count="2"
      tclass="0x030200"/><c2c bw="450000" count="2"/></gpu></pci>
  <pci busid="0000:08:00.0" class="0x020700" link_width="255" link_speed="Unknown speed"><nic>
    <net name="mlx5_0" dev="0" speed="100000" port="1" guid="0x90bd" maxconn="131072" gdr="1"
         latency="0.5" coll="1" rail="2" plane="1" keep="1"/></nic></pci>
</pci><nic><net name="eth0" dev="1" speed="10000"/></nic>)"),
      "m.xml");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_TRUE(read->warnings.empty()) << read->warnings[0];
  const HostKind& host = read->machine.kind_of(0);
  ASSERT_EQ(host.size(), 7);
  const Gpu& gpu = std::get<Gpu>(host.node(2).device);
  EXPECT_EQ(host.node(2).pci.link_gts, 16);
  EXPECT_EQ(gpu.rank, 3);
  EXPECT_EQ(gpu.nvlinks.at(0), (NvLink{"0000:07:00.0", 2, 0x030200}));
  EXPECT_EQ(gpu.c2c.at(0), (C2cLink{450000, 2}));
  EXPECT_EQ(host.node(3).pci.link_width, 0);
  const NicPort& port = std::get<NicPort>(host.node(4).device);
  EXPECT_EQ(port.guid, 0x90bdu);
  EXPECT_TRUE(port.gpu_direct && port.collectives && port.keep);
  EXPECT_EQ(host.name_of(6), "eth0");
}

TEST(Xml, a_cloud_file_without_gpu_and_net_elements_loads) {
  const auto read = parse_xml(around(R"(<pci busid="ffff:ff:01.0" class="0x060400">
<pci busid="0001:00:00.0" class="0x030200"/><pci busid="0101:00:00.0" class="0x020700"/></pci>)"),
                              "m.xml");
  ASSERT_TRUE(read) << read.error().text;
  const HostKind& host = read->machine.kind_of(0);
  ASSERT_EQ(host.gpus().size(), 1u);
  EXPECT_EQ(host.name_of(host.gpus()[0]), "gpu0");
  ASSERT_EQ(host.nets().size(), 1u);
  EXPECT_EQ(host.name_of(host.nets()[0]), "net0");
}

TEST(Xml, family_numbers_may_be_decimal_or_hexadecimal) {
  for (const char* written : {"143", "0x8f"}) {
    const auto read = parse_xml(fmt::format("<system version='1'><cpu numaid='0' familyid='{}' "
                                            "modelid='1'/></system>",
                                            written),
                                "m.xml");
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(std::get<Cpu>(read->machine.kind_of(0).node(0).device).family, 143);
  }
}

TEST(Xml, errors_name_file_line_element_attribute_and_expectation) {
  const std::pair<std::string, std::string> kCases[] = {
      {around("<pci/>"), "m.xml:3: <pci> busid: attribute missing"},
      {around("<pci busid='a' link_width='many'/>"),
       "m.xml:3: <pci> link_width: 'many' found, expected a number from 0 to 255"},
      {around("\n<pci busid='a' class='GPU'/>"), "m.xml:4: <pci> class: 'GPU' found, expected"},
      {around("<pci busid='a' link_speed='fast'/>"), "expected a rate like '16 GT/s PCIe'"},
      {around("<pci busid='a'><gpu gdr='2'/></pci>"), "m.xml:3: <gpu> gdr: '2' found"},
      {around("<pci busid='a'><gpu/><nic/></pci>"), "m.xml:3: <pci> expected one gpu, one nic"},
      {around("<pci busid='a'><gpu/><gpu/></pci>"), "holds more than one gpu"},
      {around("<pci busid='a'><nic><net latency='-1'/></nic></pci>"), "<net> latency: '-1' found"},
      {around("<pci busid='a'/><pci busid='a'/>"), "m.xml: bridge a: bus id a is used twice"},
      {around("<pci busid='&#27;[2J'/>"), "busid: expected printable ASCII"},
      {around("<pci busid=''/>"), "busid: expected a bus id"},
      {"<system><cpu numaid='0'/></system>", "m.xml:1: <system> version: attribute missing"},
      {"<system version='2'/>", "<system> version: '2' found"},
      {"<system version='1'>\n<cpu/></system>", "m.xml:2: <cpu> numaid: attribute missing"},
      {"<system version='1'/>", "m.xml: no host is described"},
      {"<system version='1'>\n\n<cpu", "m.xml:3: "},
      {"<graphs/>", "m.xml:1: expected an element <system>"},
      {"", "m.xml:1: "},
  };
  for (const auto& [text, expected] : kCases)
    EXPECT_TRUE(contains(refusal(text), expected)) << text << "\n" << refusal(text);
}

TEST(Xml, all_that_is_not_known_is_one_warning) {
  const auto read =
      parse_xml(around("<pci busid='a' colour='red'/><pci busid='b' colour='blue'/><tpu/>"), "m");
  ASSERT_TRUE(read) << read.error().text;
  ASSERT_EQ(read->warnings.size(), 1u);
  EXPECT_EQ(read->warnings[0],
            "m: not known and ignored, first in line 3: element tpu, pci colour");
}

TEST(Xml, depth_length_and_number_are_bounded) {
  std::string deep, shut;
  for (int i = 0; i < 100000; ++i) {
    deep += "<pci busid='" + std::to_string(i) + "'>";
    shut += "</pci>";
  }
  EXPECT_TRUE(contains(refusal(around(deep + shut)), "nested deeper than 32"));
  EXPECT_TRUE(contains(refusal(std::string(kXmlBytesMax + 1, ' ')), "at most"));
  const std::string longest(kXmlTextMax + 1, 'a');
  EXPECT_TRUE(contains(refusal(around("<pci busid='" + longest + "'/>")), "at most 4096"));
  std::string many;
  for (int i = 0; i < kXmlElementsMax; ++i) many += "<x/>";
  EXPECT_TRUE(contains(refusal(around(many)), "more than 1048576 elements"));
  EXPECT_TRUE(contains(refusal("<!DOCTYPE a [<!ENTITY x 'y'>]><system version='1'>&x;</system>"),
                       "no host is described"));
}

TEST(Xml, a_missing_file_says_why) {
  const auto read = read_xml("/nowhere/machine.xml");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().text, "open /nowhere/machine.xml: No such file or directory");
  EXPECT_FALSE(read_xml("/"));
}

TEST(Xml, several_hosts_without_a_clique_share_an_nvlink_fabric) {
  const auto read = parse_xml(
      "<system version='1'><cpu host_hash='0x1' numaid='0'/>"
      "<cpu host_hash='0x2' numaid='0'/></system>",
      "m.xml");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->machine.host_count(), 2);
  EXPECT_EQ(read->machine.hosts()[1].nvlink_domain, 0);
}

void expect_round_trip(const Machine& machine) {
  const std::string text = to_xml(machine);
  const auto read = parse_xml(text, "m.xml");
  ASSERT_TRUE(read) << read.error().text << "\n" << text.substr(0, 4000);
  EXPECT_TRUE(read->warnings.empty()) << read->warnings[0];
  EXPECT_TRUE(read->machine == machine) << text.substr(0, 4000);
  EXPECT_EQ(read->machine.kind_count(), machine.kind_count());
  EXPECT_EQ(to_xml(read->machine), text);
}

TEST(Xml, ten_thousand_gpus_go_there_and_back) {
  const auto machine = parse_synth("1250x(8gpu@nvs450 8nic@50) fat2:1");
  ASSERT_TRUE(machine);
  expect_round_trip(*machine);
}

// Any sound machine, drawn piece by piece so that a failure shrinks.
int draw(int least, int most) { return *rc::gen::inRange(least, most + 1); }

std::string draw_text() {
  return *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab1:<>&\"' .")));
}

Gpu draw_gpu(int dev) {
  Gpu gpu;
  gpu.dev = dev;
  gpu.sm = draw(0, 103);
  gpu.gpu_direct = draw(0, 1) == 1;
  gpu.memory_bytes = *rc::gen::arbitrary<std::uint64_t>();
  gpu.nvlink_gbps = draw(0, 1000) / 7.0;
  for (int i = draw(0, 3); i > 0; --i)
    gpu.nvlinks.push_back({"s" + draw_text(), draw(1, 18), static_cast<std::uint32_t>(draw(0, 9))});
  if (draw(0, 1) == 1) gpu.c2c.push_back({draw(1, 1000000), draw(1, 9)});
  return gpu;
}

NicPort draw_port() {
  NicPort port;
  port.name = draw_text();
  port.dev = draw(-1, 9);
  port.speed_mbps = draw(0, 800000);
  port.guid = *rc::gen::arbitrary<std::uint64_t>();
  port.latency_us = draw(0, 1000) / 3.0;
  port.keep = draw(0, 1) == 1;
  port.rail = draw(-1, 3);
  return port;
}

std::vector<Node> draw_nodes() {
  std::vector<Node> nodes;
  int gpus = 0;
  const int size = draw(1, 20);
  const auto holder = [&](auto&& fits) {
    std::vector<int> fitting;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (fits(nodes[i].kind())) fitting.push_back(static_cast<int>(i));
    return fitting.empty() ? -1 : fitting[static_cast<std::size_t>(draw(0, 99)) % fitting.size()];
  };
  const auto hub = [](NodeKind kind) { return kind == NodeKind::cpu || kind == NodeKind::bridge; };
  for (int i = 0; i < size; ++i) {
    PciSlot slot;
    slot.busid = fmt::format("{}{}", i, draw_text());
    slot.link_gts = draw(0, 64) / 3.0;
    slot.link_width = draw(0, kPciLanesMax);
    slot.vendor = static_cast<std::uint32_t>(draw(0, 0xffff));
    const int sort = nodes.empty() ? 0 : draw(0, 5);
    const int parent =
        sort == 5 ? holder([](NodeKind kind) { return kind == NodeKind::nic; }) : holder(hub);
    if (sort == 0)
      nodes.push_back({-1, {}, Cpu{i, draw_text(), draw_text(), draw(-1, 200), 1, {}}});
    if (sort == 1) nodes.push_back({parent, slot, Bridge{{draw_text()}}});
    if (sort == 2) nodes.push_back({parent, slot, draw_gpu(gpus++)});
    if (sort == 3) {
      slot.device_class = kNvSwitchClass;
      nodes.push_back({parent, slot, NvSwitch{}});
    }
    if (sort == 4) nodes.push_back({parent, slot, Nic{draw_text()}});
    if (sort == 5 && parent >= 0) nodes.push_back({parent, {}, draw_port()});
  }
  return nodes;
}

// Parents first is not enough for the file: a child must follow its parent's subtree so far. The
// walk puts nodes in the order of the file.
std::vector<Node> walked(const std::vector<Node>& nodes) {
  std::vector<Node> out;
  const auto visit = [&](auto&& self, int index, int parent) -> void {
    out.push_back(nodes[static_cast<std::size_t>(index)]);
    out.back().parent = parent;
    const int place = static_cast<int>(out.size()) - 1;
    for (std::size_t child = 0; child < nodes.size(); ++child)
      if (nodes[child].parent == index) self(self, static_cast<int>(child), place);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].parent < 0) visit(visit, static_cast<int>(i), -1);
  return out;
}

// On failure the seed is printed; RC_PARAMS="seed=..." repeats it.
RC_GTEST_PROP(Xml, what_is_written_reads_back_equal, ()) {
  MachineBuilder builder;
  builder.set({static_cast<FabricKind>(draw(1, 3)), draw(1, 9), draw(1, 9)});
  const int hosts = draw(1, 3);
  for (int i = 0; i < hosts; ++i)
    builder.add(HostKind(walked(draw_nodes())), static_cast<std::uint64_t>(i), draw(-1, 2));
  const auto machine = std::move(builder).build();
  if (!machine) RC_FAIL(machine.error().text);
  const std::string text = to_xml(*machine);
  const auto read = parse_xml(text, "m.xml");
  if (!read) RC_FAIL(read.error().text + "\n" + text);
  RC_ASSERT(read->warnings.empty());
  RC_ASSERT(read->machine == *machine);
  RC_ASSERT(to_xml(read->machine) == text);
}

}  // namespace
}  // namespace gyre
