#include "api/streams.h"

#include <mutex>
#include <unordered_map>

#include "api/handle.h"

namespace gyre {

namespace {

struct NamedStream {
  std::shared_ptr<HostStream> stream;
  int forks;  // of this process when the stream was made
};

struct Table {
  std::mutex mutex;
  std::unordered_map<gyreStream_t, NamedStream> entries;
};

// Leaked: streams may be used while static destructors run.
Table& table() {
  static auto* made = new Table;
  return *made;
}

}  // namespace

Result<gyreStream_t> make_stream() {
  std::shared_ptr<HostStream> stream = GYRE_TRY(HostStream::create());
  const auto name = static_cast<gyreStream_t>(fresh_name());
  std::lock_guard lock(table().mutex);
  table().entries.emplace(name, NamedStream{std::move(stream), fork_count()});
  return name;
}

Result<std::shared_ptr<HostStream>> find_stream(gyreStream_t name) {
  if (!name) return error(Code::invalid_argument, "the stream is NULL");
  std::lock_guard lock(table().mutex);
  const auto found = table().entries.find(name);
  if (found == table().entries.end())
    return error(Code::invalid_argument,
                 "the stream was not made by gyreHostStreamCreate, or has been destroyed");
  if (found->second.forks != fork_count())
    return error(Code::invalid_usage,
                 "the stream is the parent process's; a forked child makes its own");
  return found->second.stream;
}

void forget_stream(gyreStream_t name) {
  std::shared_ptr<HostStream> last;  // ends outside the lock: it may have work left
  std::lock_guard lock(table().mutex);
  const auto found = table().entries.find(name);
  if (found == table().entries.end()) return;
  last = std::move(found->second.stream);
  table().entries.erase(found);
}

}  // namespace gyre
