// Network namespaces of one `gyre run`: hosts of its own on this machine, joined by a bridge. Knows
// how to make, enter and remove them with ip(8). Needs root.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gyre::cli {

class Namespaces {
 public:
  // `count` namespaces on 10.<a>.<b>.0/24 behind a bridge at .254. Fails: system, naming the
  // command.
  static Result<Namespaces> make(int count);
  Namespaces(Namespaces&& other) noexcept;
  Namespaces& operator=(Namespaces&&) = delete;
  ~Namespaces();

  // For a forked child: moves it into namespace `index`.
  Status enter(int index) const;
  std::string bridge_address() const { return subnet_ + "254"; }
  std::string address(int index) const { return subnet_ + std::to_string(index + 1); }

 private:
  Namespaces() = default;
  std::string bridge_, subnet_;
  std::vector<std::string> names_;
};

}  // namespace gyre::cli
