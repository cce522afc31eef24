#include "core/job_id.h"

#include <algorithm>
#include <cstring>

namespace gyre {

namespace {

constexpr std::uint32_t kIdMagic = 0x44497967;  // "gyID"
constexpr std::uint16_t kIdLayout = 1;

struct WireId {
  std::uint32_t magic = kIdMagic;
  std::uint16_t layout = kIdLayout;
  std::uint16_t root_count = 0;
  Secret secret{};
  std::array<WireAddress, kRootAddressesMax> roots{};
  std::uint64_t checksum = 0;
};
static_assert(sizeof(WireId) == kJobIdBytes);

std::uint64_t checksum_of(const WireId& wire) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&wire);
  return hash64({bytes, offsetof(WireId, checksum)}, "gyre job id");
}

}  // namespace

std::array<std::byte, kJobIdBytes> pack(const JobId& id) {
  WireId wire;
  wire.secret = id.secret;
  wire.root_count = static_cast<std::uint16_t>(std::min(id.roots.size(), kRootAddressesMax));
  for (std::size_t i = 0; i < wire.root_count; ++i) wire.roots[i] = id.roots[i].to_wire();
  wire.checksum = checksum_of(wire);
  std::array<std::byte, kJobIdBytes> out;
  std::memcpy(out.data(), &wire, sizeof wire);
  return out;
}

Result<JobId> unpack_job_id(std::span<const std::byte, kJobIdBytes> bytes) {
  WireId wire;
  std::memcpy(static_cast<void*>(&wire), bytes.data(), sizeof wire);
  if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }))
    return error(Code::invalid_argument, "unique id is all zeros: was it filled by gyreGetUniqueId?");
  if (wire.magic != kIdMagic)
    return error(Code::invalid_argument, "unique id is not one of gyre's (first bytes {:08x})", wire.magic);
  if (wire.layout != kIdLayout)
    return error(Code::invalid_argument, "unique id has layout version {}, this library reads {}: ranks "
                 "run different versions of gyre", wire.layout, kIdLayout);
  if (wire.checksum != checksum_of(wire))
    return error(Code::invalid_argument, "unique id is damaged: its checksum is wrong, not all {} bytes "
                 "arrived as they were made", kJobIdBytes);
  if (wire.root_count == 0 || wire.root_count > kRootAddressesMax)
    return error(Code::invalid_argument, "unique id has {} root addresses, expected 1..{}",
                 wire.root_count, kRootAddressesMax);
  JobId out;
  out.secret = wire.secret;
  for (std::size_t i = 0; i < wire.root_count; ++i)
    out.roots.push_back(
        GYRE_TRY_WHILE(Address::from_wire(wire.roots[i]), "reading root address {} of a unique id", i));
  return out;
}

}  // namespace gyre
