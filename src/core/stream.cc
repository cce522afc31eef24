#include "core/stream.h"

#include "base/thread.h"

namespace gyre {

Result<std::shared_ptr<HostStream>> HostStream::create() {
  std::shared_ptr<HostStream> out(new HostStream);
  out->thread_ = GYRE_TRY(start_thread("a stream", [raw = out.get()] { raw->serve(); }));
  return out;
}

HostStream::~HostStream() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void HostStream::enqueue(std::function<Status()> task) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  changed_.notify_all();
}

Status HostStream::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
  if (!failure_) return {};
  Error first = *std::move(failure_);
  failure_.reset();
  return first;
}

Status HostStream::query() {
  std::lock_guard lock(mutex_);
  if (failure_) return Error(*failure_);
  if (busy_ || !queue_.empty()) return error(Code::in_progress, "work is under way");
  return {};
}

void HostStream::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<Status()> task = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    Status status = task();
    task = nullptr;
    lock.lock();
    busy_ = false;
    if (!status && !failure_) failure_ = status.take_error();
    changed_.notify_all();
  }
}

}  // namespace gyre
