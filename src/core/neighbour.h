// Frames to and from one neighbour in the bootstrap tree. Knows framing, the good-bye and the
// failure notice. Does not know the tree; never waits.
#pragma once

#include "base/result.h"
#include "transport/socket.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gyre {

using Blob = std::vector<std::byte>;

enum class FrameKind : std::uint32_t { gather = 1, result = 2, failure = 3, bye = 4 };

struct FrameHead {
  FrameKind kind = FrameKind::gather;
  std::uint32_t step = 0;     // how many collective steps its sender had begun
  std::int32_t culprit = -1;  // failure alone
  std::int32_t code = 0;      // failure alone
  std::uint64_t bytes = 0;    // that follow
};
static_assert(sizeof(FrameHead) == 24);

struct Frame {
  FrameHead head;
  Blob bytes;
};

class Neighbour {
 public:
  Neighbour(int rank, Socket socket) : rank_(rank), socket_(std::move(socket)) {}

  int rank() const { return rank_; }
  int fd() const { return socket_.fd(); }
  bool said_bye() const { return said_bye_; }

  // Reads until a whole frame is there or nothing more comes. Fails: remote when the stream ends
  // without a good-bye, internal for a frame that cannot be.
  Status read();
  bool wants_read() const { return !ready_ && !said_bye_; }
  bool has_frame() const { return ready_; }
  const FrameHead& peek() const { return in_.head; }  // needs: has_frame()
  Frame take_frame();

  void queue(const FrameHead& head, const Blob& bytes);
  // Writes what goes without waiting.
  Status write();
  bool wants_write() const { return written_ < out_.size(); }
  // Last words: a failure or a good-bye, after what is still queued. What does not go without
  // waiting is lost; the other side then sees the stream end.
  void say_last(const FrameHead& head, std::string_view text);

 private:
  int rank_;
  Socket socket_;
  Frame in_;
  std::size_t read_ = 0;  // bytes of head and body
  bool ready_ = false;
  bool said_bye_ = false;
  Blob out_;
  std::size_t written_ = 0;
};

}  // namespace gyre
