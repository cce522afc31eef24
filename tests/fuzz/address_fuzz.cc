// Any text as interface list, address, host and port, or range of ports.
#include "base/check.h"
#include "transport/interfaces.h"
#include "transport/socket.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto filter = gyre::parse_interface_filter(text, "")) {
    GYRE_CHECK(text.empty() == filter->names.empty());
    for (const std::string& name : filter->names) GYRE_CHECK(!name.empty() && name.size() < 16);
    (void)filter->allows("eth0");
  }
  (void)gyre::parse_interface_filter("", text);
  if (auto range = gyre::parse_port_range(text)) GYRE_CHECK(range->first <= range->last);
  if (auto address = gyre::Address::parse(text)) {
    const auto again = gyre::Address::from_wire(address->to_wire());
    GYRE_CHECK(again && again->same_host(*address) && again->port() == address->port());
    GYRE_CHECK(!address->text().empty());
  }
  (void)gyre::parse_host_port(text);
  return 0;
}
