// How the ranks of one launch come to hold one id. Knows fixed addresses and the launchers' own
// exchanges. Does not read the environment (launcher.cc).
#include "core/launcher.h"

#include "base/log.h"
#include "core/pmi.h"
#include "core/pmix.h"
#include "transport/interfaces.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace gyre {

namespace {

bool is_numeric(const std::string& host) { return static_cast<bool>(Address::parse(host)); }

// Where rank 0 of this launch may be called, the same list on every rank of its host.
Result<std::vector<Address>> fixed_addresses(const Launch& launch) {
  auto out = GYRE_TRY(resolve(launch.root_host, launch.root_port));
  if (is_numeric(launch.root_host)) {
    if (out[0].is_any())
      return error(Code::invalid_usage, "root {} is no address that others can call",
                   out[0].text());
    return out;
  }
  const bool all_loopback =
      std::all_of(out.begin(), out.end(), [](auto& a) { return a.is_loopback(); });
  if (!all_loopback || launch.local_size == launch.size) return out;
  // A host's own name often means loopback in its own hosts file, but never to other hosts: ranks
  // beside rank 0 must meet it, and advertise themselves, on an address that those can reach.
  auto reachable = GYRE_TRY(advertised_addresses(kRootAddressesMax));
  for (Address& one : reachable) one = one.with_port(launch.root_port);
  if (reachable.size() < kRootAddressesMax)
    reachable.insert(reachable.end(), out.begin(), out.end());
  return reachable;
}

// Those of `addresses` that are this host's, or the wildcard when the name is one that only others
// resolve to us, like a service's.
Result<std::vector<Address>> listening_addresses(const std::vector<Address>& addresses) {
  const auto local = GYRE_TRY(read_interfaces());
  std::vector<Address> out;
  for (const Address& one : addresses) {
    const bool ours = one.is_loopback() ||
                      std::any_of(local.begin(), local.end(),
                                  [&](const auto& mine) { return mine.address.same_host(one); });
    if (ours) out.push_back(one);
  }
  if (!out.empty()) return out;
  GYRE_LOG(info, "{} is no address of this host: rank 0 listens on all of them",
           addresses[0].text());
  const std::uint16_t port = addresses[0].port();
  out.push_back(addresses[0].family() == AF_INET6 ? Address::v6({}, port) : Address::v4({}, port));
  return out;
}

Result<Invitation> meet_at_fixed_address(const Launch& launch) {
  Invitation out;
  const Key full = derive_key({}, "gyre fixed address " + launch.secret_text);
  std::copy_n(full.begin(), out.id.secret.size(), out.id.secret.begin());
  out.id.roots = GYRE_TRY(fixed_addresses(launch));
  if (out.id.roots.size() > kRootAddressesMax) out.id.roots.resize(kRootAddressesMax);
  if (launch.rank == 0) {
    RootOptions options;
    options.secret = out.id.secret;
    options.addresses = GYRE_TRY(listening_addresses(out.id.roots));
    out.root = GYRE_TRY_WHILE(Root::start(options),
                              "serving rank 0's fixed port; GYRE_ROOT=host:port "
                              "chooses another");
  }
  return out;
}

// Rank 0 makes the id, the launcher carries its text.
template <class Exchange>
Result<Invitation> meet_by_exchange(const Launch& launch, Exchange&& exchange) {
  // Jobs of one process meet one after the other: the count keeps their keys apart.
  static std::atomic<int> meetings{0};
  const std::string key = fmt::format("gyre-id-{}", meetings.fetch_add(1));
  std::string text;
  if (launch.rank == 0) text = job_id_text(GYRE_TRY(start_job()));
  const std::string carried = GYRE_TRY(exchange(key, text));
  Invitation out;
  out.id = GYRE_TRY_WHILE(parse_job_id(carried), "reading the id that {} carried", launch.source);
  return out;
}

}  // namespace

Result<Invitation> meet(const Launch& launch, Nanos deadline) {
  switch (launch.meet_by) {
    case MeetBy::nothing: {
      Invitation out;
      out.id = GYRE_TRY(start_job());
      return out;
    }
    case MeetBy::given_id: {
      Invitation out;
      out.id = *launch.id;
      return out;
    }
    case MeetBy::fixed_address:
      return meet_at_fixed_address(launch);
    case MeetBy::pmi:
      return meet_by_exchange(launch, [&](const std::string& key, const std::string& text) {
        return pmi_exchange(launch.pmi_fd, key, text, deadline);
      });
    case MeetBy::pmix:
      return meet_by_exchange(launch, [&](const std::string& key, const std::string& text) {
        return pmix_exchange(key, text, deadline);
      });
  }
  return error(Code::internal, "no such way to meet");
}

}  // namespace gyre
