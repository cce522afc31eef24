#include "transport/signature.h"

#include <fmt/format.h>

namespace gyre {

std::string to_text(const CallSignature& call) {
  const Collective collective = call.collective();
  std::string out = to_text(collective);
  if (collective != Collective::send && collective != Collective::recv)
    out += fmt::format(" #{}", call.sequence());
  if (collective == Collective::barrier) return out;
  out += fmt::format(" of {} {}", call.count, to_text(call.type()));
  switch (collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_v:
      out += fmt::format(", {}", to_text(call.op()));
      break;
    case Collective::reduce:
      out += fmt::format(", {}, root {}", to_text(call.op()), call.root());
      break;
    case Collective::broadcast:
    case Collective::gather:
    case Collective::scatter:
      out += fmt::format(", root {}", call.root());
      break;
    default:
      break;
  }
  return out;
}

}  // namespace gyre
