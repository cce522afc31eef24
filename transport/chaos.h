// Seeded faults for tests, and for users who doubt: what arrives is held back and overtaken by
// other edges, reads and writes are short, links are cut. Knows links and wires from outside. Does
// not know who uses them. Nothing is wrapped where no fault was asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/param.h"
#include "transport/link.h"
#include "transport/wire.h"

namespace gyre {

struct Chaos {
  std::uint64_t seed = 0;
  Nanos delay = 0;                // most that a slot or a credit is held back
  std::uint64_t short_bytes = 0;  // most that one read or write of a wire moves; 0: as they like
  std::uint64_t cut = 0;          // each link breaks after 1 to `cut` transfers; 0: never
  bool active() const { return delay > 0 || short_bytes > 0 || cut > 0; }
};

// "seed=7,delay=50us,short=100,cut=5000": any of them, in any order, each once.
Status parse_param(std::string_view text, Chaos& out);
std::string param_text(const Chaos& chaos);

// `salt` makes links of one seed differ. Wires break for real: the inner one is destroyed.
std::unique_ptr<Wire> make_chaos_wire(std::unique_ptr<Wire> inner, const Chaos& chaos,
                                      std::uint64_t salt);
// A posted link over any other, with windows and single copy where the inner link has them. Only a
// mapped link is cut here: a posted one has a wire for that.
std::unique_ptr<Link> make_chaos_link(std::unique_ptr<Link> inner, const Chaos& chaos,
                                      std::uint64_t salt);
// The same as GYRE_CHAOS wants it, with one warning; `inner` itself where it is not set.
std::unique_ptr<Wire> with_chaos(std::unique_ptr<Wire> inner, std::uint64_t salt);
std::unique_ptr<Link> with_chaos(std::unique_ptr<Link> inner, std::uint64_t salt);

}  // namespace gyre
