// Any bytes as a topology file: refused with a printable reason, or a sound machine that survives
// writing and reading, and on which every way and choice can be asked.
#include "base/check.h"
#include "topology/render.h"
#include "topology/xml.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1 << 16) return 0;
  const auto read =
      gyre::parse_xml(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.xml");
  if (!read) {
    GYRE_CHECK(read.error().text.starts_with("fuzz.xml:"));
    return 0;
  }
  const gyre::Machine& machine = read->machine;
  GYRE_CHECK(machine.check());
  const auto again = gyre::parse_xml(gyre::to_xml(machine), "again.xml");
  GYRE_CHECK(again && again->warnings.empty() && again->machine == machine);
  const gyre::Paths paths(machine);
  GYRE_CHECK(!gyre::tree_text(machine).empty());
  GYRE_CHECK(!gyre::matrix_text(paths.of(0)).empty());
  (void)gyre::nics_text(paths.of(0));
  const gyre::HostKind& last = machine.kind_of(machine.host_count() - 1);
  for (const int a : machine.kind_of(0).gpus())
    for (const int b : last.nets())
      (void)gyre::why_text(paths, {0, a}, {machine.host_count() - 1, b});
  return 0;
}
