#include "bench/program.h"

int main(int argc, char** argv) {
  using namespace perf;
  return run_program(argc, argv,
                     {.name = "all_gather",
                      .rule = BusRule::shared,
                      .received = Blocks::per_rank,
                      .in_place = InPlace::send_in_recv,
                      .divides = true,
                      .identical = true,
                      .run =
                          [](const Call& c) {
                            return gyreAllGather(c.send, c.recv, c.shape.count, c.type.id, c.comm,
                                                 c.stream);
                          },
                      .segments = block_from_each});
}
