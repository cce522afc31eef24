// Ranks as threads that join one job. Knows how to start them and collect what each answered.
#pragma once

#include "core/bootstrap.h"
#include "core/root.h"

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace gyre {

// A limit of 0 is none.
inline JoinOptions options_for(const std::vector<JobId>& ids, int rank, int size,
                               Nanos limit = 30_s) {
  JoinOptions out;
  out.ids = ids;
  out.rank = rank;
  out.size = size;
  out.deadline = deadline_in(limit);
  return out;
}

// Runs `body(rank)` in `size` threads; gives what each returned.
inline std::vector<Status> as_ranks(int size, const std::function<Status(int)>& body) {
  std::vector<Status> out(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] { out[static_cast<std::size_t>(rank)] = body(rank); });
  for (auto& thread : threads) thread.join();
  return out;
}

inline std::string text_of(const Status& status) { return status ? "ok" : status.error().text; }

inline Blob blob_of(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return Blob(bytes, bytes + text.size());
}

}  // namespace gyre
