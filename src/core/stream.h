// Host streams: an in-order queue with a thread of its own. Knows tasks and their first failure.
// Does not know communicators.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/result.h"

namespace gyre {

class HostStream {
 public:
  // Fails: system, when there is no more thread to be had.
  static Result<std::shared_ptr<HostStream>> create();
  // Runs what is queued, then ends its thread.
  ~HostStream();
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  void enqueue(std::function<Status()> task);
  // Waits until the queue is empty and idle. Gives: the first failure since the last call.
  Status synchronize();
  // ok when idle, in_progress, or the first failure (which stays).
  Status query();

 private:
  HostStream() = default;
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<Status()>> queue_;
  bool busy_ = false;
  bool closing_ = false;
  std::optional<Error> failure_;
  std::thread thread_;
};

}  // namespace gyre
