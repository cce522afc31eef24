#include "bench/program.h"

int main(int argc, char** argv) {
  using namespace perf;
  return run_program(argc, argv,
                     {.name = "reduce_scatter",
                      .rule = BusRule::shared,
                      .sent = Blocks::per_rank,
                      .in_place = InPlace::recv_in_send,
                      .divides = true,
                      .reduces = true,
                      .run =
                          [](const Call& c) {
                            return gyreReduceScatter(c.send, c.recv, c.shape.count, c.type.id, c.op,
                                                     c.comm, c.stream);
                          },
                      .segments =
                          [](const Shape& s) {
                            const std::size_t mine = static_cast<std::size_t>(s.rank) * s.count;
                            return std::vector<Segment>{{0, s.count, Segment::kReduction, mine}};
                          }});
}
