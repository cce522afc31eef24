#include "bench/program.h"

int main(int argc, char** argv) {
  using namespace perf;
  return run_program(argc, argv,
                     {.name = "broadcast",
                      .in_place = InPlace::same,
                      .rooted = true,
                      .identical = true,
                      .run =
                          [](const Call& c) {
                            return gyreBroadcast(c.send, c.recv, c.shape.count, c.type.id,
                                                 c.shape.root, c.comm, c.stream);
                          },
                      .segments = [](const Shape& s) { return whole_from(s, s.root); }});
}
