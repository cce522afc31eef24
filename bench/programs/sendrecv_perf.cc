// Each rank sends to the next and receives from the one before, in one group.
#include "bench/program.h"

namespace perf {
namespace {

int before(const Shape& s) { return (s.rank + s.ranks - 1) % s.ranks; }

gyreResult_t run_call(const Call& c) {
  const gyreResult_t started = gyreGroupStart();
  if (started != gyreSuccess) return started;
  const int next = (c.shape.rank + 1) % c.shape.ranks;
  const gyreResult_t sent = gyreSend(c.send, c.shape.count, c.type.id, next, c.comm, c.stream);
  const gyreResult_t received =
      gyreRecv(c.recv, c.shape.count, c.type.id, before(c.shape), c.comm, c.stream);
  const gyreResult_t ended = gyreGroupEnd();
  if (sent != gyreSuccess) return sent;
  return received != gyreSuccess ? received : ended;
}

}  // namespace
}  // namespace perf

int main(int argc, char** argv) {
  using namespace perf;
  return run_program(argc, argv,
                     {.name = "sendrecv", .run = run_call, .segments = [](const Shape& s) {
                        return whole_from(s, before(s));
                      }});
}
