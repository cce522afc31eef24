// A plan for human eyes: one rank's program as a table, all ranks' as a picture. Knows names. Does
// not judge.
#pragma once

#include <span>
#include <string>

#include "collectives/prove.h"

namespace gyre {

// "from 2 + in[1] -> to 4  x6 step -1": what is taken and combined, where it goes, how often.
std::string to_text(const Program& program, const Move& move);

// One rank's program, a line per move.
std::string to_table(const Shape& shape, const Program& program);

// One loop of all ranks' programs: ranks across, time down, a dot per turn in its block's colour, a
// ring around what reduces, a line per message. Self-contained SVG.
// Fails: what the prover would say, when the programs do not fit or do not end.
Result<std::string> to_svg(const Shape& shape, std::span<const Program> programs);

// "proved: ..." or the fault.
std::string to_text(const Verdict& verdict);

}  // namespace gyre
