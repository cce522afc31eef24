#include "bench/program.h"

int main(int argc, char** argv) {
  using namespace perf;
  return run_program(
      argc, argv,
      {.name = "all_reduce",
       .rule = BusRule::all_reduce,
       .in_place = InPlace::same,
       .reduces = true,
       .identical = true,
       .run =
           [](const Call& c) {
             return gyreAllReduce(c.send, c.recv, c.shape.count, c.type.id, c.op, c.comm, c.stream);
           },
       .segments = [](const Shape& s) { return whole_from(s, Segment::kReduction); }});
}
