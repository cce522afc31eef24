// Hosts that are none: network namespaces joined by a bridge. Knows how to wire them. Does not know
// ranks.
#pragma once

#include <vector>

#include "harness/namespace.h"

namespace harness {

class Network {
 public:
  explicit Network(int hosts);
  // False where the kernel or the user's rights do not allow one.
  explicit operator bool() const { return made_; }

  // Moves the calling thread onto a host.
  void enter(int host) const { hosts_[static_cast<std::size_t>(host)].enter(); }
  // Cuts a host off, as if its cable were pulled.
  bool cut(int host) const;

 private:
  Namespace bridge_;
  std::vector<Namespace> hosts_;
  bool made_;
};

}  // namespace harness
