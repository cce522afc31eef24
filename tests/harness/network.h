// Hosts that are none: network namespaces joined by a bridge. Knows ip(8). Needs root. Everything
// goes with the object, or with the machine's next boot if the test is killed.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace harness {

class Network {
 public:
  // nullopt where namespaces cannot be made; `why_not` then says why.
  static std::optional<Network> make(int hosts, std::string& why_not);
  Network(Network&& other) noexcept : prefix_(std::move(other.prefix_)), hosts_(other.hosts_) {
    other.hosts_ = 0;
  }
  ~Network();

  // Moves the calling process, which must have one thread, onto a host.
  void enter(int host) const;
  // Cuts a host off, as if its cable were pulled.
  bool cut(int host) const;

 private:
  Network(std::string prefix, int hosts) : prefix_(std::move(prefix)), hosts_(hosts) {}
  std::string name(int host) const { return prefix_ + std::to_string(host); }

  std::string prefix_;
  int hosts_;
};

}  // namespace harness
