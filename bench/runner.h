// One rank's run: sweeps, warms up, times, checks. Knows the order of things and the clock.
// Does not know how ranks came to be (ranks.h) or how results are shown.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "bench/buffers.h"
#include "bench/collective.h"
#include "bench/meeting.h"
#include "bench/options.h"
#include "bench/record.h"
#include "bench/verify.h"

namespace perf {

// What a rank is given to do its part.
struct Position {
  int rank = 0;
  int ranks = 1;
  gyreComm_t comm = nullptr;
  Meeting* meeting = nullptr;
  Seat* seat = nullptr;                      // ticked after every operation
  std::function<void(const Event&)> report;  // called on rank 0 alone
};

class Runner {
 public:
  Runner(const Options& options, const Collective& collective, const Position& position);
  ~Runner();

  [[nodiscard]] Problem run();

 private:
  // What distinguishes one row from the next.
  struct Case {
    TypeInfo type;
    Op op;
    Shape shape;
    gyreRedOp_t code;
  };

  Problem open_buffers();
  Problem sweep_all();
  Problem sweep_sizes(const TypeInfo& type, Op op, int root);
  Problem measure_row(const Case& c);
  Problem measure(const Case& c, bool in_place, Timing& timing);
  Problem time_batch(const Case& c, const Verifier& v, bool in_place, double& seconds);
  Problem time_each(const Case& c, const Verifier& v, bool in_place, std::vector<double>& samples);
  Problem check(const Case& c, const Verifier& v, bool in_place, Timing& timing);
  Problem check_identical(const Case& c, const Verifier& v, bool in_place, std::int64_t& wrong);
  // One operation, or a group of -m; then what -z asks for.
  Problem operate(const Case& c, const Verifier& v, bool in_place);
  Problem synchronize();
  Problem reduce_code(Op op, const TypeInfo& type, gyreRedOp_t& code);
  Problem reduce_over_ranks(std::vector<double>& values);
  void rewrite_input(const Case& c, const Verifier& v, bool in_place);
  double now() const;

  const Options& options_;
  const Collective& collective_;
  Position position_;
  Buffer send_, recv_;
  gyreStream_t stream_ = nullptr;
  std::uint64_t seed_ = 1;
  std::uint64_t produced_ = 0;
};

}  // namespace perf
