// The 128 bytes that name one job: secret, root addresses, versions, checksum. Knows the layout.
// Does not know who serves at those addresses (root.h).
#pragma once

#include "base/result.h"
#include "transport/address.h"
#include "transport/auth.h"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gyre {

inline constexpr std::size_t kJobIdBytes = 128;
inline constexpr std::size_t kRootAddressesMax = 4;

struct JobId {
  Secret secret{};
  std::vector<Address> roots;  // 1..kRootAddressesMax, tried in this order

  // Keyed by the secret: what every connection of the job is authenticated with.
  Key key() const { return derive_key(secret, "gyre job"); }
};

std::array<std::byte, kJobIdBytes> pack(const JobId& id);
// Fails: invalid-argument with a sentence saying what is wrong with the bytes.
Result<JobId> unpack_job_id(std::span<const std::byte, kJobIdBytes> bytes);

// The same as text without blanks (171 characters), for environments and key-value stores.
std::string job_id_text(const JobId& id);
Result<JobId> parse_job_id(const std::string& text);

}  // namespace gyre
