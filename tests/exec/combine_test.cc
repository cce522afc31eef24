// combine against its oracle, bit for bit, on every instruction set of this machine.
#include "exec/combine.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "exec/combine_kernels.h"
#include "exec/combine_oracle.h"

#include <hwy/highway.h>

namespace gyre {
namespace {

// Makes Highway believe that the machine has one instruction set alone.
class OnlySet {
 public:
  explicit OnlySet(std::int64_t set) { choose(set); }
  ~OnlySet() { choose(0); }

 private:
  static void choose(std::int64_t set) {
    hwy::SetSupportedTargetsForTest(set);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

// What this build and machine have; the fallback without vectors stands for itself.
std::vector<std::int64_t> instruction_sets() {
  std::vector<std::int64_t> sets;
  for (std::int64_t set : hwy::SupportedAndGeneratedTargets()) sets.push_back(set);
  return sets;
}

std::vector<Op> ops_of(Type type) {
  std::vector<Op> ops;
  for (int op = 0; op < kOpCount; ++op)
    if (is_defined(static_cast<Op>(op), type)) ops.push_back(static_cast<Op>(op));
  return ops;
}

// An operand in memory of its own: `offset` elements after a cache line's start, guarded by 0xa5.
class Operand {
 public:
  Operand(std::size_t offset_bytes, std::size_t size) : bytes_(size + 256, 0xa5) {
    const auto start = reinterpret_cast<std::uintptr_t>(bytes_.data());
    begin_ = 64 + (64 - start % 64) % 64 + offset_bytes;
  }
  unsigned char* at() { return &bytes_[begin_]; }
  void fill(const unsigned char* from, std::size_t size) { std::copy_n(from, size, at()); }
  void expect(const Bytes& want, std::size_t size) const {
    Bytes all(bytes_.size(), 0xa5);
    std::copy_n(want.begin(), size, &all[begin_]);
    const auto [got, wanted] = std::mismatch(bytes_.begin(), bytes_.end(), all.begin());
    if (got == bytes_.end()) return;
    ADD_FAILURE() << "byte " << got - bytes_.begin() - static_cast<std::ptrdiff_t>(begin_) << " of "
                  << size << " is " << +*got << ", not " << +*wanted;
  }

 private:
  Bytes bytes_;
  std::size_t begin_;
};

struct Shape {
  std::size_t count;
  int targets;
  bool in_place = false;
  bool streaming = false;
};

// Runs one combine on the first shape.count elements at random offsets.
void expect_combines(const Request& request, const std::vector<Bytes>& sources, const Bytes& want,
                     const Shape& shape, std::mt19937_64& random) {
  const std::size_t size = shape.count * size_of(request.type);
  const auto offset = [&] { return random() % 5 * size_of(request.type); };
  std::vector<Operand> in, out;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const Bytes& source : sources) in.emplace_back(offset(), size).fill(source.data(), size);
  for (Operand& operand : in) from.push_back(operand.at());
  for (int t = 0; t < shape.targets; ++t) out.emplace_back(offset(), size);
  for (Operand& operand : out) to.push_back(operand.at());
  const std::size_t shared = random() % in.size();
  if (shape.in_place) to.back() = in[shared].at();
  combine({.targets = to.data(),
           .target_count = shape.targets,
           .sources = from.data(),
           .source_count = static_cast<int>(from.size()),
           .count = shape.count,
           .type = request.type,
           .op = request.op,
           .final = request.divide_by != 0,
           .avg_size = request.divide_by,
           .scales = request.scales.empty() ? nullptr : request.scales.data(),
           .streaming = shape.streaming});
  const std::size_t untouched = shape.in_place ? 1 : 0;
  for (std::size_t t = 0; t + untouched < out.size(); ++t) out[t].expect(want, size);
  for (std::size_t s = 0; s < in.size(); ++s)
    in[s].expect(shape.in_place && s == shared ? want : sources[s], size);
}

// Plain, and for avg and premul_sum also what the last and the first combine of a reduction do.
std::vector<Request> requests(Type type, Op op, std::size_t sources, const Bytes& scales) {
  std::vector<Request> all{{type, op}};
  if (op == Op::avg) all.push_back({type, op, 3 + 98 * static_cast<int>(sources % 2)});
  if (op == Op::premul_sum) {
    std::vector<const void*> some(sources, nullptr);
    for (std::size_t s = 0; s < sources; s += 2) some[s] = &scales[s * size_of(type)];
    all.push_back({type, op, 0, some});
  }
  return all;
}

class Combine : public ::testing::TestWithParam<int> {
 protected:
  const Type type_ = static_cast<Type>(GetParam());
  std::mt19937_64 random_{static_cast<unsigned>(GetParam())};

  std::vector<Bytes> sources(std::size_t source_count, std::size_t count) {
    std::vector<Bytes> all(source_count);
    for (Bytes& source : all) source = random_elements(type_, count, random_);
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Types, Combine, ::testing::Range(0, kTypeCount),
                         [](const auto& one) { return to_text(static_cast<Type>(one.param)); });

TEST_P(Combine, equals_the_oracle_for_any_operands_on_every_instruction_set) {
  for (std::int64_t set : instruction_sets()) {
    const OnlySet only(set);
    for (Op op : ops_of(type_)) {
      for (std::size_t n = 1; n <= 9; ++n) {
        const std::vector<Bytes> from = sources(n, 130);
        const Bytes scales = random_elements(type_, n, random_);
        for (const Request& request : requests(type_, op, n, scales)) {
          const Bytes want = expected(request, from);
          for (int targets = 1; targets <= 3; ++targets)
            for (std::size_t count = 0; count <= 130; ++count)
              expect_combines(request, from, want, {count, targets, (count + n) % 2 == 0}, random_);
          ASSERT_FALSE(HasFailure()) << hwy::TargetName(set) << " " << to_text(op) << " of " << n;
        }
      }
    }
  }
}

TEST_P(Combine, long_runs_and_streaming_give_the_same_bits) {
  for (std::int64_t set : instruction_sets()) {
    const OnlySet only(set);
    for (Op op : ops_of(type_)) {
      for (std::size_t n : {1u, 2u, 5u}) {
        const std::vector<Bytes> from = sources(n, 4099);
        const Request request{type_, op};
        const Bytes want = expected(request, from);
        for (bool streaming : {false, true})
          for (std::size_t count : {0u, 3u, 1024u, 4099u})
            expect_combines(request, from, want, {count, 2, count % 2 == 0, streaming}, random_);
        ASSERT_FALSE(HasFailure()) << hwy::TargetName(set) << " " << to_text(op) << " of " << n;
      }
    }
  }
}

TEST_P(Combine, does_not_touch_the_page_after_an_operand) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto map = [&] {
    void* at = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(static_cast<char*>(at) + page, page, PROT_NONE);
    return static_cast<unsigned char*>(at);
  };
  unsigned char* const pages[] = {map(), map(), map()};
  const std::vector<Bytes> from = sources(2, 130);
  const Bytes want = expected({type_, Op::max}, from);
  for (std::int64_t set : instruction_sets()) {
    const OnlySet only(set);
    for (std::size_t count = 0; count <= 130; ++count) {
      const std::size_t size = count * size_of(type_);
      void* to[] = {pages[2] + page - size};
      const void* sources[] = {pages[0] + page - size, pages[1] + page - size};
      for (std::size_t s : {0u, 1u}) std::copy_n(from[s].data(), size, pages[s] + page - size);
      combine({.targets = to,
               .target_count = 1,
               .sources = sources,
               .source_count = 2,
               .count = count,
               .type = type_,
               .op = Op::max});
      ASSERT_EQ(std::memcmp(to[0], want.data(), size), 0) << hwy::TargetName(set) << " " << count;
    }
  }
  for (unsigned char* at : pages) munmap(at, 2 * page);
}

TEST_P(Combine, many_sources_are_taken_up_to_the_limit) {
  const std::vector<Bytes> from = sources(kCombineSourcesMax, 70);
  const Bytes scales = random_elements(type_, from.size(), random_);
  for (Op op : ops_of(type_))
    for (const Request& request : requests(type_, op, from.size(), scales))
      expect_combines(request, from, expected(request, from), {70, 1}, random_);
}

TEST(CombineKernels, are_undefined_exactly_where_the_operator_is) {
  for (int type = 0; type < kTypeCount; ++type)
    for (int op = 0; op < kOpCount; ++op)
      EXPECT_EQ(find_kernel(static_cast<Type>(type), static_cast<Op>(op)) != nullptr,
                is_defined(static_cast<Op>(op), static_cast<Type>(type)))
          << to_text(static_cast<Type>(type)) << " " << to_text(static_cast<Op>(op));
}

// Otherwise the tests above would compare one instruction set with itself.
TEST(CombineKernels, differ_between_instruction_sets) {
  std::set<Kernel> kernels;
  const std::vector<std::int64_t> sets = instruction_sets();
  for (std::int64_t set : sets) {
    const OnlySet only(set);
    kernels.insert(find_kernel(Type::f32, Op::sum));
  }
  EXPECT_EQ(kernels.size(), sets.size());
}

}  // namespace
}  // namespace gyre
