#include "core/host.h"

#include "base/param.h"
#include "base/unique.h"
#include "transport/auth.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace gyre {

GYRE_PARAM(host_id, std::string, "",
           "identity of this host: ranks with the same text may share memory; empty: the boot id");

namespace {

std::string boot_id() {
  char text[64];
  Fd fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t bytes = fd ? ::read(fd.get(), text, sizeof text) : -1;
  if (bytes > 0) return std::string(text, static_cast<std::size_t>(bytes));
  // Without /proc no two processes are known to share a host: each is its own.
  const Secret own = random_secret();
  return std::string(reinterpret_cast<const char*>(own.data()), own.size());
}

}  // namespace

std::array<std::uint8_t, 16> host_identity() {
  static const std::string boot = boot_id();
  const std::string& chosen = param_host_id.get();
  const std::string name = chosen.empty() ? "boot " + boot : "user " + chosen;
  const Key full = derive_key({}, name);
  std::array<std::uint8_t, 16> out;
  std::memcpy(out.data(), full.data(), out.size());
  return out;
}

std::uint64_t network_namespace() {
  struct stat info;
  return ::stat("/proc/thread-self/ns/net", &info) == 0 ? info.st_ino : 0;
}

std::string host_name() {
  char text[256] = "";
  if (::gethostname(text, sizeof text - 1) != 0) return "unknown";
  return text;
}

}  // namespace gyre
