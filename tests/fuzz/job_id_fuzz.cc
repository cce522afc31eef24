// Any 128 bytes, and any text, as a unique id: what is accepted packs to the same bytes again.
#include "base/check.h"
#include "core/job_id.h"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)gyre::parse_job_id(std::string(reinterpret_cast<const char*>(data), size));
  std::array<std::byte, gyre::kJobIdBytes> bytes{};
  const auto given = std::as_bytes(std::span(data, std::min(size, bytes.size())));
  std::copy(given.begin(), given.end(), bytes.begin());
  if (auto id = gyre::unpack_job_id(bytes)) {
    GYRE_CHECK(!id->roots.empty() && id->roots.size() <= gyre::kRootAddressesMax);
    GYRE_CHECK(gyre::parse_job_id(gyre::job_id_text(*id)));
  }
  return 0;
}
