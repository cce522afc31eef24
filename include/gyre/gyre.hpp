// C++20 owners over gyre's C interface: what was made is freed, failures are exceptions, counts
// come from the ranges. Header-only; knows gyre.h and the standard library alone. Each function is
// its namesake of gyre.h, whose contract (needs, gives, fails, threads) holds here too.
//
//   gyre::Communicator comm = gyre::Communicator::from_environment();
//   std::vector<float> gradient = ...;
//   comm.all_reduce(gradient, gradient, gyreAvg);
#ifndef GYRE_GYRE_HPP_
#define GYRE_GYRE_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gyre/gyre.h>

namespace gyre {
// Names of its own in the object code: libgyre.a has other things called gyre::Communicator inside.
inline namespace cpp {

/// Any failure: what() is the full sentence, code() its kind.
class Error : public std::runtime_error {
 public:
  Error(gyreResult_t code, const std::string& text) : std::runtime_error(text), code_(code) {}
  gyreResult_t code() const noexcept { return code_; }

 private:
  gyreResult_t code_;
};

/// Throws Error unless `result` is a success. `comm` may be null.
inline void check(gyreResult_t result, gyreComm_t comm = nullptr) {
  if (result == gyreSuccess) return;
  const std::string detail = gyreGetLastError(comm);
  const std::string kind = gyreGetErrorString(result);
  throw Error(result, detail.empty() ? kind : kind + ": " + detail);
}

/// The element type of a C++ type. Specialise it for your own half types:
///   template <> struct gyre::TypeOf<my::half> { static constexpr auto value = gyreFloat16; };
template <class T>
struct TypeOf;
template <gyreDataType_t kType>
struct TypeIs {
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

template <Elements R>
inline constexpr gyreDataType_t type_of = TypeOf<std::ranges::range_value_t<R>>::value;

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
  HostStream() { check(gyreHostStreamCreate(&stream_)); }
  ~HostStream() {
    if (stream_) gyreHostStreamDestroy(stream_);
  }
  HostStream(HostStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  HostStream& operator=(HostStream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }

  void synchronize() { check(gyreHostStreamSynchronize(stream_)); }
  bool is_idle() {
    const gyreResult_t result = gyreHostStreamQuery(stream_);
    if (result != gyreInProgress) check(result);
    return result == gyreSuccess;
  }
  gyreStream_t get() const noexcept { return stream_; }
  operator gyreStream_t() const noexcept { return stream_; }

 private:
  gyreStream_t stream_ = nullptr;
};

/// Memory of gyreMemAlloc: zeroed, and local peers can map it.
class MemoryBlock {
 public:
  explicit MemoryBlock(std::size_t bytes) : bytes_(bytes) { check(gyreMemAlloc(&data_, bytes)); }
  ~MemoryBlock() { gyreMemFree(data_); }
  MemoryBlock(MemoryBlock&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryBlock& operator=(MemoryBlock&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  void* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// As many whole T as fit.
  template <class T>
  std::span<T> as() const noexcept {
    return {static_cast<T*>(data_), bytes_ / sizeof(T)};
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Collects this thread's calls from its making to run(). Without run(), as when an exception
/// passes, they are dropped.
class Group {
 public:
  Group() { check(gyreGroupStart()); }
  ~Group() {
    if (!open_) return;
    gyreSimInfo_t ignored = GYRE_SIM_INFO_INITIALIZER;
    gyreGroupSimulateEnd(&ignored);  // the one way to end a group without running it
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void run() {
    open_ = false;
    check(gyreGroupEnd());
  }

 private:
  bool open_ = true;
};

/// One rank's membership in a group of ranks. Ranges give the counts: where one side is a block per
/// rank, it must be size() times as long as the other, or Error with gyreInvalidArgument is thrown.
class Communicator {
 public:
  /// Collective. `options`: from config(), or null for the defaults.
  static Communicator join(const gyreUniqueId& id, int size, int rank,
                           gyreConfig_t* options = nullptr) {
    Communicator comm;
    check(gyreCommInitRankConfig(&comm.comm_, size, id, rank, options));
    return comm;
  }
  /// The launcher's job; alone, a single rank.
  static Communicator from_environment(gyreConfig_t* options = nullptr) {
    Communicator comm;
    check(gyreCommInitFromEnv(&comm.comm_, options));
    return comm;
  }
  /// `count` ranks in this process.
  static std::vector<Communicator> local(int count) {
    std::vector<gyreComm_t> handles(static_cast<std::size_t>(count));
    check(gyreCommInitAll(handles.data(), count, nullptr));
    std::vector<Communicator> comms;
    for (gyreComm_t handle : handles) comms.push_back(Communicator(handle));
    return comms;
  }

  /// Takes over a handle of the C interface.
  explicit Communicator(gyreComm_t handle) noexcept : comm_(handle) {}
  ~Communicator() {
    if (comm_) gyreCommDestroy(comm_);
  }
  Communicator(Communicator&& other) noexcept : comm_(other.release()) {}
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }

  gyreComm_t get() const noexcept { return comm_; }
  gyreComm_t release() noexcept { return std::exchange(comm_, nullptr); }

  int rank() const {
    int rank = 0;
    check(gyreCommUserRank(comm_, &rank), comm_);
    return rank;
  }
  int size() const {
    int size = 0;
    check(gyreCommCount(comm_, &size), comm_);
    return size;
  }
  /// Success, in-progress, or its first failure.
  gyreResult_t state() const {
    gyreResult_t state = gyreSuccess;
    check(gyreCommGetAsyncError(comm_, &state), comm_);
    return state;
  }

  /// Stops what is in flight and frees the handle. Not while another thread is inside a call here:
  /// for that, use gyreCommAbort on get().
  void abort() { check(gyreCommAbort(release())); }
  void revoke() { check(gyreCommRevoke(comm_, 0), comm_); }
  void finalize() { check(gyreCommFinalize(comm_), comm_); }

  /// Nothing for GYRE_SPLIT_NOCOLOR.
  std::optional<Communicator> split(int color, int key, gyreConfig_t* options = nullptr) {
    gyreComm_t child = nullptr;
    check(gyreCommSplit(comm_, color, key, &child, options), comm_);
    if (!child) return std::nullopt;
    return Communicator(child);
  }
  /// The survivors' communicator; `flags` is GYRE_SHRINK_DEFAULT or GYRE_SHRINK_ABORT.
  Communicator shrink(std::span<const int> excluded, int flags, gyreConfig_t* options = nullptr) {
    std::vector<int> list(excluded.begin(), excluded.end());
    gyreComm_t child = nullptr;
    check(gyreCommShrink(comm_, list.data(), static_cast<int>(list.size()), &child, options, flags),
          comm_);
    return Communicator(child);
  }

  template <Elements Send, Elements Recv>
  void all_reduce(const Send& send, Recv&& recv, gyreRedOp_t op = gyreSum,
                  gyreStream_t stream = nullptr) {
    expect(length(send) == length(recv), "all_reduce: send and recv differ in length");
    check(gyreAllReduce(start(send), start(recv), length(send), same<Send, Recv>(), op, comm_,
                        stream),
          comm_);
  }
  template <Elements Buffer>
  void broadcast(Buffer&& buffer, int root, gyreStream_t stream = nullptr) {
    check(gyreBcast(start(buffer), length(buffer), type_of<std::remove_cvref_t<Buffer>>, root,
                    comm_, stream),
          comm_);
  }
  /// `recv` matters on root alone; elsewhere it may be empty.
  template <Elements Send, Elements Recv>
  void reduce(const Send& send, Recv&& recv, int root, gyreRedOp_t op = gyreSum,
              gyreStream_t stream = nullptr) {
    expect(rank() != root || length(send) == length(recv),
           "reduce: send and root's recv differ in length");
    check(gyreReduce(start(send), start(recv), length(send), same<Send, Recv>(), op, root, comm_,
                     stream),
          comm_);
  }
  template <Elements Send, Elements Recv>
  void all_gather(const Send& send, Recv&& recv, gyreStream_t stream = nullptr) {
    expect(length(recv) == blocks(length(send)), "all_gather: recv is not size() times send");
    check(gyreAllGather(start(send), start(recv), length(send), same<Send, Recv>(), comm_, stream),
          comm_);
  }
  template <Elements Send, Elements Recv>
  void reduce_scatter(const Send& send, Recv&& recv, gyreRedOp_t op = gyreSum,
                      gyreStream_t stream = nullptr) {
    expect(length(send) == blocks(length(recv)), "reduce_scatter: send is not size() times recv");
    check(gyreReduceScatter(start(send), start(recv), length(recv), same<Send, Recv>(), op, comm_,
                            stream),
          comm_);
  }
  template <Elements Send, Elements Recv>
  void all_to_all(const Send& send, Recv&& recv, gyreStream_t stream = nullptr) {
    const std::size_t count = length(send) / blocks(1);
    expect(length(send) == length(recv) && length(send) == blocks(count),
           "all_to_all: not one block per rank on both sides");
    check(gyreAlltoAll(start(send), start(recv), count, same<Send, Recv>(), comm_, stream), comm_);
  }
  /// `recv` matters on root alone.
  template <Elements Send, Elements Recv>
  void gather(const Send& send, Recv&& recv, int root, gyreStream_t stream = nullptr) {
    expect(rank() != root || length(recv) == blocks(length(send)),
           "gather: root's recv is not size() times send");
    check(
        gyreGather(start(send), start(recv), length(send), same<Send, Recv>(), root, comm_, stream),
        comm_);
  }
  /// `send` matters on root alone.
  template <Elements Send, Elements Recv>
  void scatter(const Send& send, Recv&& recv, int root, gyreStream_t stream = nullptr) {
    expect(rank() != root || length(send) == blocks(length(recv)),
           "scatter: root's send is not size() times recv");
    check(gyreScatter(start(send), start(recv), length(recv), same<Send, Recv>(), root, comm_,
                      stream),
          comm_);
  }
  void barrier(gyreStream_t stream = nullptr) { check(gyreBarrier(comm_, stream), comm_); }

  template <Elements Send>
  void send(const Send& send, int peer, gyreStream_t stream = nullptr) {
    check(gyreSend(start(send), length(send), type_of<Send>, peer, comm_, stream), comm_);
  }
  template <Elements Recv>
  void recv(Recv&& recv, int peer, gyreStream_t stream = nullptr) {
    check(gyreRecv(start(recv), length(recv), type_of<std::remove_cvref_t<Recv>>, peer, comm_,
                   stream),
          comm_);
  }

 private:
  Communicator() = default;

  static void expect(bool fact, const char* text) {
    if (!fact) throw Error(gyreInvalidArgument, text);
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

  gyreComm_t comm_ = nullptr;
};

/// [range] registered with comm for as long as this lives. Local; the memory must outlive it.
class Registration {
 public:
  Registration(const Communicator& comm, void* data, std::size_t bytes) : comm_(comm.get()) {
    check(gyreCommRegister(comm_, data, bytes, &handle_), comm_);
  }
  ~Registration() {
    if (handle_) gyreCommDeregister(comm_, handle_);
  }
  Registration(Registration&& other) noexcept
      : comm_(other.comm_), handle_(std::exchange(other.handle_, nullptr)) {}
  Registration& operator=(Registration&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(handle_, other.handle_);
    return *this;
  }

 private:
  gyreComm_t comm_;
  void* handle_ = nullptr;
};

}  // namespace cpp
}  // namespace gyre

#endif  // GYRE_GYRE_HPP_
