#include "bench/program.h"

int main(int argc, char** argv) {
  using namespace perf;
  return run_program(argc, argv,
                     {.name = "gather",
                      .rule = BusRule::shared,
                      .received = Blocks::per_rank,
                      .in_place = InPlace::send_in_recv,
                      .divides = true,
                      .rooted = true,
                      .run =
                          [](const Call& c) {
                            return gyreGather(c.send, c.recv, c.shape.count, c.type.id,
                                              c.shape.root, c.comm, c.stream);
                          },
                      .segments =
                          [](const Shape& s) {
                            return s.rank == s.root ? block_from_each(s) : std::vector<Segment>{};
                          }});
}
