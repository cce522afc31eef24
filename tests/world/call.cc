#include "world/call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "harness/guarded.h"

namespace world {

using harness::Guarded;
using harness::Rank;

namespace {

constexpr std::byte kUntouched{0xee};
// Above this many (element, rank) pairs only a part of the elements is looked at.
constexpr std::size_t kLooksMax = 200'000;

std::size_t z(int value) { return static_cast<std::size_t>(value); }
std::uint64_t u(int value) { return static_cast<std::uint64_t>(value); }

// Where an output element comes from.
struct Origin {
  enum { nowhere, copy, reduced } how = nowhere;
  int rank = 0;
  std::size_t index = 0;
};

// The tables of the uneven kinds: each block followed by a gap of 0..2 elements.
struct Tables {
  std::vector<std::size_t> counts, offsets;
  std::size_t end = 0;
};
template <class CountOf>
Tables make_tables(const Call& call, int ranks, CountOf count_of) {
  Tables out;
  for (int r = 0; r < ranks; ++r) {
    out.counts.push_back(count_of(r));
    out.offsets.push_back(out.end);
    out.end += out.counts.back() + mix(call.seed, u(r)) % 3;
  }
  return out;
}
// A third of all blocks is empty; rank 0 now and then gives and gets nothing at all.
std::size_t block_count(const Call& call, int from, int to) {
  const std::uint64_t random = mix(call.seed ^ 0xb10c, u(from) * 64 + u(to));
  if (mix(call.seed, 77) % 4 == 0 && (from == 0 || to == 0)) return 0;
  return random % 3 == 0 ? 0 : random % (call.count + 1);
}

struct Layout {
  std::size_t send = 0, recv = 0;  // elements
  Tables out, in;                  // of the uneven kinds
};

Layout layout_of(const Call& call, int me, int n) {
  const std::size_t all = call.count * z(n);
  const bool root = me == call.root;
  auto shared_tables = [&] {
    return make_tables(call, n, [&](int r) { return block_count(call, r, 1); });
  };
  Layout out;
  switch (call.kind) {
    case Kind::all_reduce:
      return {call.count, call.count, {}, {}};
    case Kind::broadcast:
      return {root ? call.count : 0, call.count, {}, {}};
    case Kind::reduce:
      return {call.count, root ? call.count : 0, {}, {}};
    case Kind::all_gather:
      return {call.count, all, {}, {}};
    case Kind::reduce_scatter:
      return {all, call.count, {}, {}};
    case Kind::all_to_all:
      return {all, all, {}, {}};
    case Kind::gather:
      return {call.count, root ? all : 0, {}, {}};
    case Kind::scatter:
      return {root ? all : 0, call.count, {}, {}};
    case Kind::all_gather_v:
      out.out = shared_tables();
      return {out.out.counts[z(me)], out.out.end, out.out, {}};
    case Kind::reduce_scatter_v:
      out.out = shared_tables();
      return {out.out.end, out.out.counts[z(me)], out.out, {}};
    case Kind::all_to_all_v:
      out.out = make_tables(call, n, [&](int to) { return block_count(call, me, to); });
      out.in = make_tables(call, n, [&](int from) { return block_count(call, from, me); });
      out.send = out.out.end;
      out.recv = out.in.end;
      return out;
  }
  return out;
}

// The block of `tables` that holds element j, if any.
std::optional<int> block_at(const Tables& tables, std::size_t j) {
  for (std::size_t b = 0; b < tables.counts.size(); ++b)
    if (j >= tables.offsets[b] && j < tables.offsets[b] + tables.counts[b])
      return static_cast<int>(b);
  return std::nullopt;
}

Origin origin_of(const Call& call, const Layout& layout, int me, int n, std::size_t j) {
  const std::size_t mine = z(me) * call.count;
  switch (call.kind) {
    case Kind::all_reduce:
    case Kind::reduce:
      return {Origin::reduced, 0, j};
    case Kind::broadcast:
      return {Origin::copy, call.root, j};
    case Kind::all_gather:
    case Kind::gather:
      return {Origin::copy, static_cast<int>(j / call.count), j % call.count};
    case Kind::reduce_scatter:
      return {Origin::reduced, 0, mine + j};
    case Kind::scatter:
      return {Origin::copy, call.root, mine + j};
    case Kind::all_to_all:
      return {Origin::copy, static_cast<int>(j / call.count), mine + j % call.count};
    case Kind::reduce_scatter_v:
      return {Origin::reduced, 0, layout.out.offsets[z(me)] + j};
    case Kind::all_gather_v: {
      const auto block = block_at(layout.out, j);
      if (!block) return {};
      return {Origin::copy, *block, j - layout.out.offsets[z(*block)]};
    }
    case Kind::all_to_all_v: {
      const auto block = block_at(layout.in, j);
      if (!block) return {};
      const Layout theirs = layout_of(call, *block, n);
      return {Origin::copy, *block, theirs.out.offsets[z(me)] + j - layout.in.offsets[z(*block)]};
    }
  }
  return {};
}

// Both buffers of one rank; in place one lies inside the other.
class Buffers {
 public:
  Buffers(const Call& call, const Layout& layout, int me, int n) : call_(call), layout_(layout) {
    const std::size_t elem = bytes_of(call.type);
    const bool send_inside = layout.recv >= layout.send;
    const std::size_t inner = std::min(layout.send, layout.recv);
    auto shared = [&](int which) {
      if (call.memory == Memory::mixed) return mix(call.seed, 2 * u(me) + u(which)) % 2 == 0;
      return call.memory == Memory::shared;
    };
    first_.emplace(std::max(layout.send, layout.recv) * elem, shared(0));
    std::memset(first_->data(), static_cast<int>(kUntouched), first_->bytes());
    std::byte* small = nullptr;
    if (call.in_place) {
      small = first_->data() + (layout.send == layout.recv ? 0 : z(me) * call.count * elem);
    } else {
      second_.emplace(inner * elem, shared(1));
      std::memset(second_->data(), static_cast<int>(kUntouched), second_->bytes());
      small = second_->data();
    }
    send_ = send_inside ? small : first_->data();
    recv_ = send_inside ? first_->data() : small;
    for (std::size_t i = 0; i < layout.send; ++i)
      store(call.type, send_, i, input(call.type, call.op, call.seed, me, n, i));
    hash_ = harness::hash_of(send_, layout.send * elem);
  }
  std::byte* send() const { return layout_.send > 0 ? send_ : nullptr; }
  std::byte* recv() const { return layout_.recv > 0 ? recv_ : nullptr; }
  void check_limits(const std::string& text) const {
    EXPECT_TRUE(first_->front_is_whole()) << "written before a buffer by " << text;
    if (!second_) return;
    EXPECT_TRUE(second_->front_is_whole()) << "written before a buffer by " << text;
    EXPECT_EQ(hash_, harness::hash_of(send_, layout_.send * bytes_of(call_.type)))
        << "input changed by " << text;
  }

 private:
  const Call& call_;
  const Layout& layout_;
  std::optional<Guarded> first_, second_;
  std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;
  std::uint64_t hash_ = 0;
};

gyreResult_t issue(const Call& call, const Layout& layout, const Buffers& at, gyreRedOp_t op,
                   gyreComm_t comm, gyreStream_t stream) {
  const Tables& out = layout.out;
  switch (call.kind) {
    case Kind::all_reduce:
      return gyreAllReduce(at.send(), at.recv(), call.count, call.type, op, comm, stream);
    case Kind::broadcast:
      return gyreBroadcast(at.send(), at.recv(), call.count, call.type, call.root, comm, stream);
    case Kind::reduce:
      return gyreReduce(at.send(), at.recv(), call.count, call.type, op, call.root, comm, stream);
    case Kind::all_gather:
      return gyreAllGather(at.send(), at.recv(), call.count, call.type, comm, stream);
    case Kind::reduce_scatter:
      return gyreReduceScatter(at.send(), at.recv(), call.count, call.type, op, comm, stream);
    case Kind::all_to_all:
      return gyreAlltoAll(at.send(), at.recv(), call.count, call.type, comm, stream);
    case Kind::gather:
      return gyreGather(at.send(), at.recv(), call.count, call.type, call.root, comm, stream);
    case Kind::scatter:
      return gyreScatter(at.send(), at.recv(), call.count, call.type, call.root, comm, stream);
    case Kind::all_gather_v:
      return gyreAllGatherV(at.send(), at.recv(), out.counts.data(), out.offsets.data(), call.type,
                            comm, stream);
    case Kind::reduce_scatter_v:
      return gyreReduceScatterV(at.send(), at.recv(), out.counts.data(), out.offsets.data(),
                                call.type, op, comm, stream);
    case Kind::all_to_all_v:
      return gyreAlltoAllV(at.send(), out.counts.data(), out.offsets.data(), at.recv(),
                           layout.in.counts.data(), layout.in.offsets.data(), call.type, comm,
                           stream);
  }
  return gyreInternalError;
}

// Looks at all elements, or at both ends and a comb through the middle.
void check_output(const Call& call, const Layout& layout, int me, int n, const std::byte* recv) {
  std::vector<std::uint64_t> inputs(z(n)), scalars;
  for (int r = 0; r < n; ++r) scalars.push_back(scalar(call.type, call.seed, r));
  const std::size_t stride = std::max<std::size_t>(1, layout.recv * z(n) / kLooksMax);
  int wrong = 0;
  for (std::size_t j = 0; j < layout.recv && wrong < 3;) {
    const Origin origin = origin_of(call, layout, me, n, j);
    const std::uint64_t got = load(call.type, recv, j);
    bool right = false;
    switch (origin.how) {
      case Origin::nowhere:
        right = recv[j * bytes_of(call.type)] == kUntouched;
        break;
      case Origin::copy:
        right = got == input(call.type, call.op, call.seed, origin.rank, n, origin.index);
        break;
      case Origin::reduced:
        for (int r = 0; r < n; ++r)
          inputs[z(r)] = input(call.type, call.op, call.seed, r, n, origin.index);
        right = is_reduction(call.type, call.op, inputs, scalars, got);
    }
    if (!right) {
      ++wrong;
      ADD_FAILURE() << "rank " << me << " element " << j << " of " << layout.recv << " is "
                    << decode(call.type, got) << " in " << text_of(call, n);
    }
    const bool edge = j < 300 || j + 300 > layout.recv;
    j += edge ? 1 : stride;
  }
}

// Gives the hash of the output.
std::uint64_t perform_hashed(const Rank& me, gyreComm_t comm, const Call& call,
                             gyreStream_t stream) {
  const Layout layout = layout_of(call, me.rank(), me.size());
  const std::string text = text_of(call, me.size());
  Buffers buffers(call, layout, me.rank(), me.size());
  auto op = static_cast<gyreRedOp_t>(std::max(call.op, 0));
  std::uint64_t scale = scalar(call.type, call.seed, me.rank());
  const bool made = reduces(call.kind) && call.op == kPreMul;
  if (made) {
    const bool late = call.seed & 1;
    EXPECT_OK(gyreRedOpCreatePreMulSum(&op, &scale, call.type,
                                       late ? gyreScalarDevice : gyreScalarHostImmediate, comm));
    if (!late) scale = ~scale;
  }
  const gyreResult_t result = issue(call, layout, buffers, op, comm, stream);
  EXPECT_EQ(result, gyreSuccess) << text << ": " << gyreGetLastError(comm);
  if (stream) EXPECT_OK(gyreHostStreamSynchronize(stream));
  if (made) EXPECT_OK(gyreRedOpDestroy(op, comm));
  if (result != gyreSuccess) return 0;
  buffers.check_limits(text);
  check_output(call, layout, me.rank(), me.size(), buffers.recv());
  return harness::hash_of(buffers.recv(), layout.recv * bytes_of(call.type));
}

bool has_in_place(Kind kind) {
  return kind != Kind::all_to_all && kind != Kind::all_gather_v && kind != Kind::reduce_scatter_v &&
         kind != Kind::all_to_all_v;
}

}  // namespace

const char* name_of(Kind kind) {
  static constexpr const char* kNames[] = {
      "all_reduce", "broadcast", "reduce",       "all_gather",       "reduce_scatter", "all_to_all",
      "gather",     "scatter",   "all_gather_v", "reduce_scatter_v", "all_to_all_v"};
  return kNames[static_cast<int>(kind)];
}

bool reduces(Kind kind) {
  return kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::reduce_scatter ||
         kind == Kind::reduce_scatter_v;
}

Call draw(const Menu& menu, std::uint64_t seed, int ranks) {
  std::uint64_t state = seed;
  auto any = [&](std::size_t below) {
    return static_cast<std::size_t>((state = mix(state, 1)) % below);
  };
  Call call;
  call.seed = seed;
  call.kind =
      menu.kinds.empty() ? static_cast<Kind>(any(kKinds)) : menu.kinds[any(menu.kinds.size())];
  call.type = menu.types.empty() ? static_cast<gyreDataType_t>(any(gyreNumTypes))
                                 : menu.types[any(menu.types.size())];
  do call.op = static_cast<int>(any(gyreNumOps + 1)) - 1;
  while (!is_defined(call.op, call.type));
  call.root = static_cast<int>(any(z(ranks)));
  const std::size_t n = z(ranks);
  const std::size_t counts[] = {0, 1, n - 1, n, n + 1, 73, 4097, ranks > 8 ? 10'007u : 100'003u};
  call.count =
      menu.counts.empty() ? counts[any(std::size(counts))] : menu.counts[any(menu.counts.size())];
  call.in_place = any(2) == 0 && has_in_place(call.kind);
  call.memory = static_cast<Memory>(any(3));
  return call;
}

std::string text_of(const Call& call, int ranks) {
  static constexpr const char* kMemories[] = {"plain", "shared", "mixed"};
  return fmt::format("{} {} {} count {} root {}{} in {} memory on {} ranks, seed {}",
                     name_of(call.kind), name_of(call.type), name_of_op(call.op), call.count,
                     call.root, call.in_place ? " in place" : "",
                     kMemories[static_cast<int>(call.memory)], ranks, call.seed);
}

void perform(const Rank& me, gyreComm_t comm, const Call& call, gyreStream_t stream) {
  (void)perform_hashed(me, comm, call, stream);
}

void perform_alike(const Rank& me, gyreComm_t comm, const Call& call) {
  const std::uint64_t hash = perform_hashed(me, comm, call, nullptr);
  // Two words in turn: who is fast may already write the next while another still compares.
  const int slot = static_cast<int>(call.seed & 1);
  me.word(slot).store(hash);
  me.meet();
  if (testing::Test::HasFailure()) return;
  const bool alike = call.kind == Kind::all_reduce || call.kind == Kind::all_gather ||
                     call.kind == Kind::broadcast || call.kind == Kind::all_gather_v;
  EXPECT_TRUE(!alike || hash == me.word(0, slot).load())
      << "bits differ from rank 0's in " << text_of(call, me.size());
}

std::uint64_t seed_of_run() {
  const char* text = std::getenv("WORLD_SEED");
  return text ? std::strtoull(text, nullptr, 0) : 1;
}

bool heavy() { return std::getenv("WORLD_HEAVY") != nullptr; }

}  // namespace world
