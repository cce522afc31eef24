#include "bench/program.h"

int main(int argc, char** argv) {
  using namespace perf;
  return run_program(argc, argv,
                     {.name = "alltoall",
                      .rule = BusRule::shared,
                      .sent = Blocks::per_rank,
                      .received = Blocks::per_rank,
                      .divides = true,
                      .run =
                          [](const Call& c) {
                            return gyreAlltoAll(c.send, c.recv, c.shape.count, c.type.id, c.comm,
                                                c.stream);
                          },
                      .segments =
                          [](const Shape& s) {
                            std::vector<Segment> segments = block_from_each(s);
                            for (Segment& segment : segments)
                              segment.from = static_cast<std::size_t>(s.rank) * s.count;
                            return segments;
                          }});
}
