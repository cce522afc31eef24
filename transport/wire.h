// A wire: a reliable, ordered stream of bytes to one peer, as a socket or a plug-in gives it. Knows
// bytes and whether the other end is there. Does not know frames, slots or ranks.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>

#include "base/result.h"

namespace gyre {

// What one attempt moved. Nothing moved and not over: again later.
struct Moved {
  std::size_t bytes = 0;
  bool over = false;  // no byte will ever go this way again
  int reason = 0;     // errno of a wire that broke; 0 at an orderly end
};

class Wire {
 public:
  Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  virtual ~Wire() = default;

  // Takes a beginning of `parts`, as much as goes without waiting. Who was told "again" offers the
  // same bytes next time, more behind them perhaps.
  virtual Moved send(std::span<const iovec> parts) = 0;
  // Fills a beginning of `parts` with what has arrived.
  virtual Moved receive(std::span<const iovec> parts) = 0;
  // All that was sent lies with the other end's system: closing can no longer lose it.
  virtual bool arrived() const { return true; }
  // Fails when the other end is gone in a way that neither send() nor receive() shows. Slow path.
  virtual Status probe() { return {}; }
  // Becomes readable when bytes arrive or the other end goes; -1 when there is none.
  virtual int descriptor() const { return -1; }
  // Becomes writable when send() may go on.
  virtual int send_descriptor() const { return descriptor(); }
};

}  // namespace gyre
