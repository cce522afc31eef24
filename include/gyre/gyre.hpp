/** \file gyre.hpp
 *  C++20 owners over gyre's C interface: what was made is freed, failures are exceptions, counts
 * come from the ranges. Header-only; knows gyre.h and the standard library alone. Each function is
 * its namesake of gyre.h, whose contract (needs, gives, fails, threads) holds here too: where that
 * fails, this throws Error. A moved-from owner is good for nothing but assignment and its end.
 *
 *      gyre::Communicator comm = gyre::Communicator::from_environment();
 *      std::vector<float> gradient = ...;
 *      comm.all_reduce(gradient, gradient, gyreAvg);
 */
#ifndef GYRE_GYRE_HPP_
#define GYRE_GYRE_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gyre/gyre.h>

/// gyre for C++ programs.
namespace gyre {
// Names of its own in the object code: libgyre.a has other things called gyre::Communicator inside.
/// Everything of gyre.hpp; also found as gyre::name.
inline namespace cpp {

/// Any failure: what() is the full sentence, code() its kind.
class Error : public std::runtime_error {
 public:
  /// A failure of kind `code`.
  Error(gyreResult_t code, const std::string& text) : std::runtime_error(text), code_(code) {}
  /// Its kind.
  gyreResult_t code() const noexcept { return code_; }

 private:
  gyreResult_t code_;
};

/// Throws Error unless `result` is a success. `comm` may be null.
inline void check(gyreResult_t result, gyreComm_t comm = nullptr) {
  if (result == gyreSuccess) return;
  const std::string detail = gyreGetLastError(comm);
  const std::string kind = gyreGetErrorString(result);
  throw Error(result, detail.starts_with(kind) ? detail : kind + ": " + detail);
}

/// The element type of a C++ type. Specialise it for your own half types:
///   template <> struct gyre::TypeOf<my::half> { static constexpr auto value = gyreFloat16; };
template <class T>
struct TypeOf;
/// Base of TypeOf's specialisations.
template <gyreDataType_t kType>
struct TypeIs {
  /// The element type.
  static constexpr gyreDataType_t value = kType;
};
template <>
struct TypeOf<std::int8_t> : TypeIs<gyreInt8> {};
template <>
struct TypeOf<char> : TypeIs<gyreChar> {};
template <>
struct TypeOf<std::uint8_t> : TypeIs<gyreUint8> {};
template <>
struct TypeOf<std::byte> : TypeIs<gyreUint8> {};
template <>
struct TypeOf<std::int32_t> : TypeIs<gyreInt32> {};
template <>
struct TypeOf<std::uint32_t> : TypeIs<gyreUint32> {};
template <>
struct TypeOf<std::int64_t> : TypeIs<gyreInt64> {};
template <>
struct TypeOf<std::uint64_t> : TypeIs<gyreUint64> {};
template <>
struct TypeOf<float> : TypeIs<gyreFloat32> {};
template <>
struct TypeOf<double> : TypeIs<gyreFloat64> {};
template <>
struct TypeOf<bool> : TypeIs<gyreBool> {};

/// Elements side by side whose type gyre knows: std::vector, std::array, std::span, C arrays.
template <class R>
concept Elements = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && requires {
  TypeOf<std::ranges::range_value_t<R>>::value;
};

/// The element type of a range.
template <Elements R>
inline constexpr gyreDataType_t type_of = TypeOf<std::ranges::range_value_t<R>>::value;

/// Not for users.
namespace detail {
/// Frees what a handle of the C interface stands for.
template <auto kFree>
struct Free {
  /// As unique_ptr calls it.
  void operator()(auto* handle) const noexcept { kFree(handle); }
};
}  // namespace detail

/// A new job's name, for rank 0 to hand to the others.
inline gyreUniqueId unique_id() {
  gyreUniqueId id;
  check(gyreGetUniqueId(&id));
  return id;
}

/// Options that start from the defaults.
inline gyreConfig_t config() {
  gyreConfig_t config = GYRE_CONFIG_INITIALIZER;
  return config;
}

/// An in-order queue of host operations. Destroying it waits for what is queued.
class HostStream {
 public:
  /// An empty queue.
  HostStream() {
    gyreStream_t made = nullptr;
    check(gyreHostStreamCreate(&made));
    stream_.reset(made);
  }

  /// Waits until all that was queued is done; throws the first failure since the last call.
  void synchronize() { check(gyreHostStreamSynchronize(get())); }
  /// Whether all is done; throws the first failure, which stays.
  bool is_idle() {
    const gyreResult_t result = gyreHostStreamQuery(get());
    if (result != gyreInProgress) check(result);
    return result == gyreSuccess;
  }
  /// The handle, still owned.
  gyreStream_t get() const noexcept { return stream_.get(); }
  /// For the stream arguments of calls.
  operator gyreStream_t() const noexcept { return get(); }

 private:
  std::unique_ptr<gyreStream, detail::Free<gyreHostStreamDestroy>> stream_;
};

/// Memory of gyreMemAlloc: zeroed, and local peers can map it.
class MemoryBlock {
 public:
  /// `bytes` of zeros.
  explicit MemoryBlock(std::size_t bytes) : bytes_(bytes) {
    void* made = nullptr;
    check(gyreMemAlloc(&made, bytes));
    data_.reset(made);
  }

  /// Its first byte.
  void* data() const noexcept { return data_.get(); }
  /// As asked for.
  std::size_t bytes() const noexcept { return bytes_; }
  /// As many whole T as fit.
  template <class T>
  std::span<T> as() const noexcept {
    return {static_cast<T*>(data()), bytes_ / sizeof(T)};
  }

 private:
  std::unique_ptr<void, detail::Free<gyreMemFree>> data_;
  std::size_t bytes_;
};

/// Collects this thread's calls from its making to run(). Without run(), as when an exception
/// passes, they are dropped.
class Group {
 public:
  /// Starts collecting.
  Group() {
    check(gyreGroupStart());
    ++depth();
  }
  ~Group() {
    if (!open_) return;
    --depth();
    gyreSimInfo_t ignored = GYRE_SIM_INFO_INITIALIZER;
    gyreGroupSimulateEnd(&ignored);  // the one way to end a group without running it
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Runs what was collected; throws its first failure.
  void run() {
    open_ = false;
    --depth();
    check(gyreGroupEnd());
  }
  /// Whether one of this thread is collecting.
  static bool any_open() noexcept { return depth() > 0; }

 private:
  static int& depth() noexcept {
    thread_local int open_groups = 0;
    return open_groups;
  }

  bool open_ = true;
};

/// One rank's membership in a group of ranks. Ranges give the counts: where one side is a block per
/// rank, it must be size() times as long as the other, or Error with gyreInvalidArgument is thrown.
/// What makes a Communicator cannot wait for a Group's end and throws inside one.
class Communicator {
 public:
  /// Collective. `options`: from config(), or null for the defaults. With blocking 0 it is not
  /// ready before state() is gyreSuccess.
  static Communicator join(const gyreUniqueId& id, int size, int rank,
                           gyreConfig_t* options = nullptr) {
    expect_no_group();
    gyreComm_t made = nullptr;
    const gyreResult_t result = gyreCommInitRankConfig(&made, size, id, rank, options);
    if (result != gyreInProgress) check(result);
    return Communicator(made);
  }
  /// The launcher's job; alone, a single rank.
  static Communicator from_environment(gyreConfig_t* options = nullptr) {
    expect_no_group();
    gyreComm_t made = nullptr;
    check(gyreCommInitFromEnv(&made, options));
    return Communicator(made);
  }
  /// `count` ranks in this process.
  static std::vector<Communicator> local(int count) {
    expect_no_group();
    std::vector<gyreComm_t> handles(static_cast<std::size_t>(count));
    check(gyreCommInitAll(handles.data(), count, nullptr));
    std::vector<Communicator> comms;
    for (gyreComm_t handle : handles) comms.push_back(Communicator(handle));
    return comms;
  }

  /// Takes over a handle of the C interface.
  explicit Communicator(gyreComm_t handle) noexcept : comm_(handle) {}

  /// The handle, still owned.
  gyreComm_t get() const noexcept { return comm_.get(); }
  /// The handle, now the caller's.
  gyreComm_t release() noexcept { return comm_.release(); }

  /// This rank.
  int rank() const {
    int rank = 0;
    check(gyreCommUserRank(get(), &rank), get());
    return rank;
  }
  /// The number of ranks.
  int size() const {
    int size = 0;
    check(gyreCommCount(get(), &size), get());
    return size;
  }
  /// Success, in-progress, or its first failure.
  gyreResult_t state() const {
    gyreResult_t state = gyreSuccess;
    check(gyreCommGetAsyncError(get(), &state), get());
    return state;
  }

  /// Stops what is in flight and frees the handle. Not while another thread is inside a call here:
  /// for that, use gyreCommAbort on get().
  void abort() { check(gyreCommAbort(release())); }
  /// Stops what is in flight and refuses new work; good for shrink and the end.
  void revoke() { check(gyreCommRevoke(get(), 0), get()); }
  /// Waits until work is done, that of streams too; good for the end alone.
  void finalize() { check(gyreCommFinalize(get()), get()); }

  /// Collective: this color's communicator; nothing for GYRE_SPLIT_NOCOLOR.
  std::optional<Communicator> split(int color, int key, gyreConfig_t* options = nullptr) {
    expect_no_group();
    gyreComm_t child = nullptr;
    check(gyreCommSplit(get(), color, key, &child, options), get());
    if (!child) return std::nullopt;
    return Communicator(child);
  }
  /// The survivors' communicator; `flags` is GYRE_SHRINK_DEFAULT or GYRE_SHRINK_ABORT.
  Communicator shrink(std::span<const int> excluded, int flags, gyreConfig_t* options = nullptr) {
    std::vector<int> list(excluded.begin(), excluded.end());
    gyreComm_t child = nullptr;
    check(gyreCommShrink(get(), list.data(), static_cast<int>(list.size()), &child, options, flags),
          get());
    return Communicator(child);
  }

  /// `recv[i] = op over ranks of send[i]`, on every rank.
  template <Elements Send, Elements Recv>
  void all_reduce(const Send& send, Recv&& recv, gyreRedOp_t op = gyreSum,
                  gyreStream_t stream = nullptr) {
    expect(length(send) == length(recv), "all_reduce: send and recv differ in length");
    check(gyreAllReduce(start(send), start(recv), length(send), same<Send, Recv>(), op, get(),
                        stream),
          get());
  }
  /// Root's buffer on every rank.
  template <Elements Buffer>
  void broadcast(Buffer&& buffer, int root, gyreStream_t stream = nullptr) {
    check(gyreBcast(start(buffer), length(buffer), type_of<std::remove_cvref_t<Buffer>>, root,
                    get(), stream),
          get());
  }
  /// `recv` on root = op over ranks of `send`; elsewhere it may be empty.
  template <Elements Send, Elements Recv>
  void reduce(const Send& send, Recv&& recv, int root, gyreRedOp_t op = gyreSum,
              gyreStream_t stream = nullptr) {
    expect(rank() != root || length(send) == length(recv),
           "reduce: send and root's recv differ in length");
    check(gyreReduce(start(send), start(recv), length(send), same<Send, Recv>(), op, root, get(),
                     stream),
          get());
  }
  /// Block r of `recv` is rank r's `send`.
  template <Elements Send, Elements Recv>
  void all_gather(const Send& send, Recv&& recv, gyreStream_t stream = nullptr) {
    expect(length(recv) == blocks(length(send)), "all_gather: recv is not size() times send");
    check(gyreAllGather(start(send), start(recv), length(send), same<Send, Recv>(), get(), stream),
          get());
  }
  /// `recv` on rank r = op over ranks of block r.
  template <Elements Send, Elements Recv>
  void reduce_scatter(const Send& send, Recv&& recv, gyreRedOp_t op = gyreSum,
                      gyreStream_t stream = nullptr) {
    expect(length(send) == blocks(length(recv)), "reduce_scatter: send is not size() times recv");
    check(gyreReduceScatter(start(send), start(recv), length(recv), same<Send, Recv>(), op, get(),
                            stream),
          get());
  }
  /// Block b of rank r's `send` becomes block r of rank b's `recv`.
  template <Elements Send, Elements Recv>
  void all_to_all(const Send& send, Recv&& recv, gyreStream_t stream = nullptr) {
    const std::size_t count = length(send) / blocks(1);
    expect(length(send) == length(recv) && length(send) == blocks(count),
           "all_to_all: not one block per rank on both sides");
    check(gyreAlltoAll(start(send), start(recv), count, same<Send, Recv>(), get(), stream), get());
  }
  /// Block r of root's `recv` is rank r's `send`; elsewhere `recv` may be empty.
  template <Elements Send, Elements Recv>
  void gather(const Send& send, Recv&& recv, int root, gyreStream_t stream = nullptr) {
    expect(rank() != root || length(recv) == blocks(length(send)),
           "gather: root's recv is not size() times send");
    check(
        gyreGather(start(send), start(recv), length(send), same<Send, Recv>(), root, get(), stream),
        get());
  }
  /// `recv` on rank r is block r of root's `send`; elsewhere `send` may be empty.
  template <Elements Send, Elements Recv>
  void scatter(const Send& send, Recv&& recv, int root, gyreStream_t stream = nullptr) {
    expect(rank() != root || length(send) == blocks(length(recv)),
           "scatter: root's send is not size() times recv");
    check(gyreScatter(start(send), start(recv), length(recv), same<Send, Recv>(), root, get(),
                      stream),
          get());
  }
  /// Done only when every rank has come here.
  void barrier(gyreStream_t stream = nullptr) { check(gyreBarrier(get(), stream), get()); }

  /// To `peer`, which receives as many elements of this type.
  template <Elements Send>
  void send(const Send& send, int peer, gyreStream_t stream = nullptr) {
    check(gyreSend(start(send), length(send), type_of<Send>, peer, get(), stream), get());
  }
  /// From `peer`, which sends as many elements of this type.
  template <Elements Recv>
  void recv(Recv&& recv, int peer, gyreStream_t stream = nullptr) {
    check(gyreRecv(start(recv), length(recv), type_of<std::remove_cvref_t<Recv>>, peer, get(),
                   stream),
          get());
  }

 private:
  static void expect(bool fact, const char* text) {
    if (!fact) throw Error(gyreInvalidArgument, text);
  }
  static void expect_no_group() {
    if (Group::any_open()) throw Error(gyreInvalidUsage, "no Communicator is made inside a Group");
  }
  static std::size_t length(const auto& range) { return std::ranges::size(range); }
  static auto* start(auto& range) { return std::ranges::data(range); }
  std::size_t blocks(std::size_t count) const { return count * static_cast<std::size_t>(size()); }

  // The one type of both sides; a mismatch does not compile.
  template <class Send, class Recv>
  static constexpr gyreDataType_t same() {
    using A = std::ranges::range_value_t<Send>;
    using B = std::ranges::range_value_t<std::remove_cvref_t<Recv>>;
    static_assert(std::is_same_v<A, B>, "send and recv hold different types");
    return TypeOf<A>::value;
  }

  std::unique_ptr<gyreComm, detail::Free<gyreCommDestroy>> comm_;
};

/// Memory registered with a communicator for as long as this lives; both must outlive it. Local.
class Registration {
 public:
  /// Registers `bytes` at `data`.
  Registration(const Communicator& comm, void* data, std::size_t bytes) {
    void* made = nullptr;
    check(gyreCommRegister(comm.get(), data, bytes, &made), comm.get());
    handle_ = {made, Deregister{comm.get()}};
  }

 private:
  struct Deregister {
    gyreComm_t comm;
    void operator()(void* handle) const noexcept { gyreCommDeregister(comm, handle); }
  };
  std::unique_ptr<void, Deregister> handle_;
};

}  // namespace cpp
}  // namespace gyre

#endif  // GYRE_GYRE_HPP_
