// Where ranks wait for each other and compare notes, apart from what is being measured.
// PageMeeting is a page shared by local ranks; CommMeeting asks gyre itself, for ranks that a
// launcher placed on other hosts. Knows nothing about time or buffers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "bench/problem.h"

namespace perf {

inline constexpr std::size_t kNoteBytes = 512;

enum class SeatState : std::int32_t { running, done, failed, left };

// One rank's place on the page. Written by the rank, read by the supervisor.
struct alignas(64) Seat {
  std::atomic<std::uint64_t> ticks;  // finished operations
  std::atomic<SeatState> state;      // pairs with the supervisor's load: `error` is whole before
  std::int64_t failed_at;
  char error[1024];
  std::byte note[kNoteBytes];
};

// A page of anonymous shared memory, inherited by forked ranks.
class Page {
 public:
  static std::unique_ptr<Page> create(int seats);
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  int seats() const { return seats_; }
  Seat& seat(int index) const;
  gyreUniqueId& id() const;

  // False when the run was stopped: leave, no more meetings will take place.
  bool barrier() const;
  void stop() const;
  bool is_stopped() const;

  // The first failure of a seat is kept, and everyone is asked to leave.
  void fail(int index, const std::string& what) const;

 private:
  struct Head;
  Page(void* memory, int seats, std::size_t bytes);

  Head* head_;
  int seats_;
  std::size_t bytes_;
};

class Meeting {
 public:
  virtual ~Meeting() = default;
  [[nodiscard]] virtual Problem barrier() = 0;
  // all[r * bytes ...) is rank r's note. Needs: bytes <= kNoteBytes, the same on all ranks.
  [[nodiscard]] virtual Problem gather(const void* note, std::size_t bytes, void* all) = 0;
};

inline constexpr const char* kLeft = "left because another rank failed";

class PageMeeting final : public Meeting {
 public:
  PageMeeting(const Page& page, int rank) : page_(page), rank_(rank) {}
  Problem barrier() override;
  Problem gather(const void* note, std::size_t bytes, void* all) override;

 private:
  const Page& page_;
  int rank_;
};

class CommMeeting final : public Meeting {
 public:
  explicit CommMeeting(gyreComm_t comm) : comm_(comm) {}
  Problem barrier() override;
  Problem gather(const void* note, std::size_t bytes, void* all) override;

 private:
  gyreComm_t comm_;
};

}  // namespace perf
