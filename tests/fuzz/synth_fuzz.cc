// Any text as the one line of a machine: refused with a column, or a sound machine.
#include "base/check.h"
#include "topology/synth.h"
#include "topology/xml.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto machine =
      gyre::parse_synth(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!machine) {
    GYRE_CHECK(machine.error().text.starts_with("column "));
    return 0;
  }
  GYRE_CHECK(machine->check());
  GYRE_CHECK(machine->kind_count() == 1 && machine->host_count() <= gyre::kHostsMax);
  // Larger ones are only slower here.
  constexpr int kHostsMax = 4;
  if (machine->host_count() > kHostsMax) return 0;
  const auto again = gyre::parse_xml(gyre::to_xml(*machine), "again.xml");
  GYRE_CHECK(again && again->machine == *machine);
  return 0;
}
