// Stream sockets with deadlines. Knows connect, listen, whole sends and receives, descriptors
// passed over unix sockets, and errors that name both ends. Does not know who the other side is
// (auth.h). Underneath everything is non-blocking and close-on-exec; nothing raises SIGPIPE.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/unique.h"
#include "transport/address.h"

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

// How long a call may wait: until the deadline, or until the abort word is true (noticed in 20 ms).
struct Until {
  Nanos deadline = kNever;
  const std::atomic<bool>* abort = nullptr;

  bool passed() const { return deadline != kNever && now_ns() >= deadline; }
  bool aborted() const { return abort && abort->load(std::memory_order_relaxed); }
  Until no_later_than(Nanos other) const { return {std::min(deadline, other), abort}; }
  // What poll(2) takes: cut short while an abort word has to be watched.
  int slice_ms() const;
  // Ok while neither has happened; timeout or aborted otherwise.
  Status check(const char* doing) const;
};

// A connected stream. Move only; closes on destruction.
class Socket {
 public:
  Socket() = default;
  Socket(Fd fd, const Address& remote) : fd_(std::move(fd)), remote_(remote) {}

  // Connects or fails by `until`. Retries nothing: see core/doorway.h for that.
  static Result<Socket> connect(const Address& remote, const Until& until);
  // Begins to connect and returns at once; is ready when poll says writable and finish() is ok.
  // Fails: in_progress when a unix listener's queue is full: try again; else system.
  static Result<Socket> start(const Address& remote);
  // Ok: connected. Needs: poll(2) said writable.
  Status finish();

  Status send_all(std::span<const std::byte> bytes, const Until& until);
  Status recv_all(std::span<std::byte> bytes, const Until& until);
  // As much as goes without waiting: bytes moved, 0 when it would block. End of stream is an error
  // of code `remote`.
  Result<std::size_t> send_some(std::span<const std::byte> bytes);
  Result<std::size_t> recv_some(std::span<std::byte> bytes);

  // Unix sockets alone: one message of `bytes` (at least one) with descriptors riding on it.
  Status send_fds(std::span<const int> fds, std::span<const std::byte> bytes, const Until& until);
  // Fills `bytes`; Gives: the descriptors that came along (at most 16).
  Result<std::vector<Fd>> recv_fds(std::span<std::byte> bytes, const Until& until);

  int fd() const { return fd_.get(); }
  Fd release() { return std::move(fd_); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  const Address& remote() const { return remote_; }
  Address local() const;
  bool is_unix() const { return remote_.is_unix(); }
  // "10.0.0.1:33412 to 10.0.0.7:4021": how errors name this socket.
  std::string ends() const;

 private:
  Fd fd_;
  Address remote_;
};

// Ports that listeners may use; first 0 means any.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};
// "42000-42063", or "" for any.
Result<PortRange> parse_port_range(std::string_view text);

// A listening socket.
class Listener {
 public:
  Listener() = default;
  Listener(Listener&&) = default;
  Listener& operator=(Listener&& other);
  ~Listener() { close(); }

  // Port 0 takes a port of `range`. Fails: system, naming address and port when it is in use, or
  // the range when all of it is.
  static Result<Listener> open(const Address& local, const PortRange& range);
  // The same with the range of GYRE_PORT_RANGE.
  static Result<Listener> open(const Address& local);
  // The next caller, or none when nobody waits.
  Result<std::optional<Socket>> accept();
  // Stops listening also for forked children that inherited the socket.
  void close();

  int fd() const { return fd_.get(); }
  const Address& local() const { return local_; }

 private:
  Fd fd_;
  Address local_;
  int owner_pid_ = 0;
};

// poll(2) on one descriptor within `until`. Ok: one of the events is there.
Status wait_ready(int fd, short events, const Until& until, const char* doing);

// Raises the soft limit of open files to the hard one. True when that gave room.
bool raise_file_limit();
// `error` for a failed call that makes descriptors; EMFILE names RLIMIT_NOFILE, soft and hard.
Error descriptor_error(const std::string& doing, int errno_value);

}  // namespace gyre
