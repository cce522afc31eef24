// What an algorithm costs: steps one after another, messages, bytes touched and bytes between
// hosts, counted from the programs themselves. Knows alpha-beta constants. Does not know which
// ranks run where on a host, nor what else the machine does: costs rank choices, they promise no
// time.
#pragma once

#include "collectives/catalog.h"

namespace gyre {

// Microseconds, and microseconds per byte. Defaults: the local ones fit one_shot and two_shot of
// two processes on 2 cores (32 KiB 4.7 and 8.2 us, 256 KiB 37 and 29 us, 2 MiB 280 and 268 us in
// place), those across hosts are guesses of a 10 Gbit/s network. Measure where it matters.
struct CostConstants {
  double local_step = 1.5;                // a message to a rank of the same host, written to read
  double across_step = 15.0;              // to another host
  double message = 0.08;                  // work of one end for one message, whatever its size
  double touched_byte = 2.5e-5;           // one operand of a move, read or written
  double across_byte = 8e-4;              // leaving a host
  std::uint64_t chunk_bytes = 128 << 10;  // most that a slot takes
};

// Of one loop, for the busiest rank. Block units are multiplied by a block's bytes.
struct Cost {
  int blocks = 1;          // the algorithm's, for collectives that cut one buffer
  double local_steps = 0;  // on the critical path
  double across_steps = 0;
  double fill_steps = 0;      // of them, those that a pipeline of loops pays once
  double messages = 0;        // edge ends a rank handles
  double touched_blocks = 0;  // operands a rank reads or writes
  double across_blocks = 0;   // blocks that leave the host with the most
};

// Needs: entry valid for the layout.
Cost cost_of(const Entry& entry, const Layout& layout);

// Of a call of `bytes`: the whole buffer where the collective cuts one, a rank's block elsewhere.
double microseconds(const Cost& cost, Collective collective, std::uint64_t bytes,
                    const CostConstants& constants);

}  // namespace gyre
