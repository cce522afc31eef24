#include "core/job_id.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

namespace gyre {

namespace {

constexpr std::uint32_t kIdMagic = 0x44497967;  // "gyID"
constexpr std::uint16_t kIdLayout = 1;
constexpr int kTextVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

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
    return error(Code::invalid_argument,
                 "unique id is all zeros: was it filled by gyreGetUniqueId?");
  if (wire.magic != kIdMagic)
    return error(Code::invalid_argument, "unique id is not one of gyre's (first bytes {:08x})",
                 wire.magic);
  if (wire.layout != kIdLayout)
    return error(Code::invalid_argument,
                 "unique id has layout version {}, this library reads {}: ranks "
                 "run different versions of gyre",
                 wire.layout, kIdLayout);
  if (wire.checksum != checksum_of(wire))
    return error(Code::invalid_argument,
                 "unique id is damaged: its checksum is wrong, not all {} bytes "
                 "arrived as they were made",
                 kJobIdBytes);
  if (wire.root_count == 0 || wire.root_count > kRootAddressesMax)
    return error(Code::invalid_argument, "unique id has {} root addresses, expected 1..{}",
                 wire.root_count, kRootAddressesMax);
  JobId out;
  out.secret = wire.secret;
  for (std::size_t i = 0; i < wire.root_count; ++i)
    out.roots.push_back(GYRE_TRY_WHILE(Address::from_wire(wire.roots[i]),
                                       "reading root address {} of a unique id", i));
  return out;
}

std::string job_id_text(const JobId& id) {
  const auto bytes = pack(id);
  std::string out(sodium_base64_ENCODED_LEN(kJobIdBytes, kTextVariant), '\0');
  sodium_bin2base64(out.data(), out.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), kTextVariant);
  out.pop_back();  // the length counts the 0 at the end
  return out;
}

Result<JobId> parse_job_id(const std::string& text) {
  std::array<std::byte, kJobIdBytes> bytes;
  std::size_t count = 0;
  const int problem =
      sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &count, nullptr, kTextVariant);
  if (problem != 0 || count != kJobIdBytes)
    return error(Code::invalid_argument, "'{}...' is not a unique id as text", text.substr(0, 16));
  return unpack_job_id(bytes);
}

}  // namespace gyre
