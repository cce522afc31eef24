#include "bench/runner.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include <fmt/format.h>

#include "bench/samples.h"

namespace perf {
namespace {

std::uint64_t digest(const std::byte* bytes, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  for (; i < size; ++i) hash = (hash ^ static_cast<std::uint64_t>(bytes[i])) * 0x100000001b3u;
  return hash;
}

}  // namespace

Runner::Runner(const Options& options, const Collective& collective, const Position& position)
    : options_(options), collective_(collective), position_(position) {}

Runner::~Runner() {
  if (stream_) (void)gyreHostStreamDestroy(stream_);
}

double Runner::now() const {
  timespec time{};
  clock_gettime(options_.cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Problem Runner::run() {
  if (collective_.refuses) {
    const std::string why = collective_.refuses(position_.ranks);
    if (!why.empty()) return fmt::format("{} ranks: {}", position_.ranks, why);
  }
  if (collective_.rooted && options_.root >= position_.ranks)
    return fmt::format("-r {} with {} ranks", options_.root, position_.ranks);
  if (!options_.null_stream)
    if (Problem p = problem_of(gyreHostStreamCreate(&stream_), "gyreHostStreamCreate", nullptr))
      return p;
  if (Problem p = open_buffers()) return p;
  for (int cycle = 0; options_.cycles == 0 || cycle < options_.cycles; ++cycle)
    if (Problem p = sweep_all()) return p;
  return std::nullopt;
}

Problem Runner::open_buffers() {
  std::size_t sent = 0, received = 0;
  for (const TypeInfo& type : options_.types) {
    const std::size_t block =
        type.bytes * collective_.count_of(options_.sweep.last, type.bytes, position_.ranks);
    sent = std::max(sent, block * block_count(collective_.sent, position_.ranks));
    received = std::max(received, block * block_count(collective_.received, position_.ranks));
  }
  const auto slots = static_cast<std::size_t>(options_.aggregate);
  if (Problem p = send_.open({sent, slots, options_.misalign, options_.memory}, position_.comm))
    return p;
  // In place the receive buffer also holds what is sent.
  return recv_.open({std::max(sent, received), slots, options_.misalign, options_.memory},
                    position_.comm);
}

Problem Runner::sweep_all() {
  const std::vector<Op> no_reduction = {Op::sum};
  std::vector<int> roots = {collective_.rooted ? options_.root : -1};
  if (collective_.rooted && options_.root < 0) {
    roots.clear();
    for (int root = 0; root < position_.ranks; ++root) roots.push_back(root);
  }
  for (const TypeInfo& type : options_.types) {
    for (Op op : collective_.reduces ? options_.ops : no_reduction) {
      if (collective_.reduces && !is_defined(op, type)) {
        if (options_.ops.size() == 1 && options_.types.size() == 1)
          return fmt::format("{} is not defined for {}", to_text(op), type.name);
        continue;
      }
      for (int root : roots)
        if (Problem p = sweep_sizes(type, op, root)) return p;
    }
  }
  return std::nullopt;
}

Problem Runner::reduce_code(Op op, const TypeInfo& type, gyreRedOp_t& code) {
  code = public_code(op).value_or(gyreSum);
  if (op != Op::mulsum || !collective_.reduces) return std::nullopt;
  const int scalar = scalar_of(position_.rank);
  std::uint64_t bits = static_cast<std::uint64_t>(scalar);
  if (type.kind == Kind::real) bits = encode_float(scalar, type.exponent_bits, type.mantissa_bits);
  return problem_of(
      gyreRedOpCreatePreMulSum(&code, &bits, type.id, gyreScalarHostImmediate, position_.comm),
      "gyreRedOpCreatePreMulSum", position_.comm);
}

Problem Runner::sweep_sizes(const TypeInfo& type, Op op, int root) {
  Case c{type, op, {position_.ranks, position_.rank, std::max(root, 0), 0}, gyreSum};
  if (Problem p = reduce_code(op, type, c.code)) return p;
  std::size_t last_count = 0;
  bool any = false;
  for (std::size_t bytes : sizes_of(options_.sweep)) {
    c.shape.count = collective_.count_of(bytes, type.bytes, position_.ranks);
    // Small sizes that round to the same count are one row.
    if (any && c.shape.count == last_count) continue;
    any = true;
    last_count = c.shape.count;
    if (Problem p = measure_row(c)) return p;
  }
  if (op != Op::mulsum || !collective_.reduces) return std::nullopt;
  return problem_of(gyreRedOpDestroy(c.code, position_.comm), "gyreRedOpDestroy", position_.comm);
}

Problem Runner::measure_row(const Case& c) {
  Event event;
  event.kind = Event::row;
  Row& row = event.line;
  row.bytes = collective_.size_of(c.shape.count, c.type.bytes, position_.ranks);
  row.count = c.shape.count;
  std::snprintf(row.type, sizeof(row.type), "%s", c.type.name);
  std::snprintf(row.op, sizeof(row.op), "%s", collective_.reduces ? to_text(c.op) : "none");
  row.root = collective_.rooted ? c.shape.root : -1;
  row.unix_seconds = std::time(nullptr);
  if (Problem p = measure(c, false, row.out)) return p;
  if (collective_.in_place != InPlace::none)
    if (Problem p = measure(c, true, row.in)) return p;
  if (position_.rank == 0) position_.report(event);
  return std::nullopt;
}

Problem Runner::measure(const Case& c, bool in_place, Timing& timing) {
  const Verifier verifier(collective_, c.shape, c.type, c.op, ++seed_);
  const auto slots = static_cast<std::size_t>(options_.aggregate);
  for (std::size_t slot = 0; slot < slots; ++slot) verifier.prepare(send_, recv_, slot, in_place);
  for (int i = 0; i < options_.warmups; ++i)
    if (Problem p = operate(c, verifier, in_place)) return p;
  if (Problem p = synchronize()) return p;
  timing.present = true;
  std::vector<double> samples;
  if (options_.per_iteration || options_.touch == Touch::produced) {
    if (Problem p = time_each(c, verifier, in_place, samples)) return p;
    if (Problem p = reduce_over_ranks(samples)) return p;
    fill_figures(samples, options_.per_iteration ? options_.skipped : 0, timing);
    timing.seconds = timing.average;
  } else {
    std::vector<double> one(1);
    if (Problem p = time_batch(c, verifier, in_place, one[0])) return p;
    if (Problem p = reduce_over_ranks(one)) return p;
    timing.seconds = one[0];
  }
  const std::size_t moved = collective_.moved
                                ? collective_.moved(c.shape) * c.type.bytes
                                : collective_.size_of(c.shape.count, c.type.bytes, position_.ranks);
  const Bandwidth bandwidth =
      bandwidth_of(collective_.rule, position_.ranks, moved, timing.seconds);
  timing.algorithm_gbps = bandwidth.algorithm;
  timing.bus_gbps = bandwidth.bus;
  if (options_.checks == 0) return std::nullopt;
  return check(c, verifier, in_place, timing);
}

Problem Runner::time_batch(const Case& c, const Verifier& v, bool in_place, double& seconds) {
  if (Problem p = position_.meeting->barrier()) return p;
  const double start = now();
  for (int i = 0; i < options_.iterations; ++i)
    if (Problem p = operate(c, v, in_place)) return p;
  if (Problem p = synchronize()) return p;
  seconds = (now() - start) / options_.iterations / options_.aggregate;
  return std::nullopt;
}

Problem Runner::time_each(const Case& c, const Verifier& v, bool in_place,
                          std::vector<double>& samples) {
  const bool produced = options_.touch == Touch::produced;
  if (Problem p = position_.meeting->barrier()) return p;
  for (int i = 0; i < options_.iterations; ++i) {
    if (produced) {
      rewrite_input(c, v, in_place);
      if (Problem p = position_.meeting->barrier()) return p;
    }
    const double start = now();
    if (Problem p = operate(c, v, in_place)) return p;
    if (Problem p = synchronize()) return p;
    samples.push_back((now() - start) / options_.aggregate);
  }
  return std::nullopt;
}

// Ordinary stores of numbers that are normal in every type, as a kernel before the collective would
// leave them. Not memset: libc stores large fills past the cache.
void Runner::rewrite_input(const Case& c, const Verifier& v, bool in_place) {
  ++produced_;
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(options_.aggregate); ++slot) {
    const Placement place = v.place(send_, recv_, slot, in_place);
    if (c.type.kind == Kind::boolean) {
      for (std::size_t i = 0; i < place.send_bytes; ++i)
        place.send[i] = static_cast<std::byte>((i + produced_) & 1);
      continue;
    }
    std::size_t i = 0;
    for (; i + 8 <= place.send_bytes; i += 8) {
      const std::uint64_t word = 0x3c003c003c003c00u + ((i + produced_) & 0xf8);
      std::memcpy(place.send + i, &word, 8);
    }
    for (; i < place.send_bytes; ++i) place.send[i] = std::byte{0x3c};
  }
}

Problem Runner::operate(const Case& c, const Verifier& v, bool in_place) {
  const bool grouped = options_.aggregate > 1;
  if (grouped)
    if (Problem p = problem_of(gyreGroupStart(), "gyreGroupStart", position_.comm)) return p;
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(options_.aggregate); ++slot) {
    const Placement place = v.place(send_, recv_, slot, in_place);
    const Call call{place.send, place.recv, c.shape, c.type, c.code, position_.comm, stream_};
    if (Problem p = problem_of(collective_.run(call), collective_.name, position_.comm)) return p;
  }
  if (grouped)
    if (Problem p = problem_of(gyreGroupEnd(), "gyreGroupEnd", position_.comm)) return p;
  position_.seat->ticks.fetch_add(1, std::memory_order_relaxed);
  if (options_.blocking > 0)
    if (Problem p = synchronize()) return p;
  return options_.blocking > 1 ? position_.meeting->barrier() : std::nullopt;
}

Problem Runner::synchronize() {
  if (!stream_) return std::nullopt;
  return problem_of(gyreHostStreamSynchronize(stream_), "gyreHostStreamSynchronize",
                    position_.comm);
}

Problem Runner::check(const Case& c, const Verifier& v, bool in_place, Timing& timing) {
  const auto slots = static_cast<std::size_t>(options_.aggregate);
  std::int64_t wrong = 0;
  for (int i = 0; i < options_.checks; ++i) {
    for (std::size_t slot = 0; slot < slots; ++slot) v.prepare(send_, recv_, slot, in_place);
    // Nobody may still be preparing when the first rank's data arrives in a mapped buffer.
    if (Problem p = position_.meeting->barrier()) return p;
    if (Problem p = operate(c, v, in_place)) return p;
    if (Problem p = synchronize()) return p;
    for (std::size_t slot = 0; slot < slots; ++slot) wrong += v.count_wrong(recv_, slot, in_place);
    if (options_.check_identical && collective_.identical)
      if (Problem p = check_identical(c, v, in_place, wrong)) return p;
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(position_.ranks));
  if (Problem p = position_.meeting->gather(&wrong, sizeof(wrong), all.data())) return p;
  timing.wrong = 0;
  for (std::int64_t one : all) timing.wrong += one;
  return std::nullopt;
}

// A rank whose bits differ from rank 0's has all its elements wrong.
Problem Runner::check_identical(const Case& c, const Verifier& v, bool in_place,
                                std::int64_t& wrong) {
  const Placement place = v.place(send_, recv_, 0, in_place);
  const std::uint64_t own = digest(place.recv, place.recv_bytes);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(position_.ranks));
  if (Problem p = position_.meeting->gather(&own, sizeof(own), all.data())) return p;
  if (own != all.front()) wrong += static_cast<std::int64_t>(place.recv_bytes / c.type.bytes);
  return std::nullopt;
}

Problem Runner::reduce_over_ranks(std::vector<double>& values) {
  const auto ranks = static_cast<std::size_t>(position_.ranks);
  constexpr std::size_t kBatch = kNoteBytes / sizeof(double);
  std::vector<double> all(kBatch * ranks), per_rank(ranks);
  for (std::size_t first = 0; first < values.size(); first += kBatch) {
    const std::size_t size = std::min(kBatch, values.size() - first);
    if (Problem p = position_.meeting->gather(&values[first], size * sizeof(double), all.data()))
      return p;
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t r = 0; r < ranks; ++r) per_rank[r] = all[r * size + i];
      values[first + i] = reduced(options_.reduce, per_rank);
    }
  }
  return std::nullopt;
}

}  // namespace perf
