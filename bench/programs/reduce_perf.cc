#include "bench/program.h"

int main(int argc, char** argv) {
  using namespace perf;
  return run_program(argc, argv,
                     {.name = "reduce",
                      .in_place = InPlace::same,
                      .reduces = true,
                      .rooted = true,
                      .run =
                          [](const Call& c) {
                            return gyreReduce(c.send, c.recv, c.shape.count, c.type.id, c.op,
                                              c.shape.root, c.comm, c.stream);
                          },
                      .segments =
                          [](const Shape& s) {
                            return s.rank == s.root ? whole_from(s, Segment::kReduction)
                                                    : std::vector<Segment>{};
                          }});
}
