#include "bench/seat.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <vector>

#include "bench/record.h"
#include "bench/runner.h"

namespace perf {
namespace {

void pin_to(int index) {
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(index % std::max(1L, cpus)), &set);
  sched_setaffinity(0, sizeof(set), &set);  // best effort: a cpuset may forbid it
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

RankCard own_card(int rank, int ranks) {
  RankCard card;
  card.rank = rank;
  card.ranks = ranks;
  card.pid = static_cast<std::int32_t>(getpid());
  card.cpu = sched_getcpu();
  (void)gyreGetVersion(&card.library_version);
  gethostname(card.host, sizeof(card.host) - 1);
  return card;
}

// Joins, runs and leaves; the communicator is its own.
class Member {
 public:
  Member(const Options& options, const Collective& collective, const Page& page,
         const SeatSpec& spec)
      : options_(options), collective_(collective), page_(page), spec_(spec) {}

  ~Member() {
    if (position_.comm) (void)gyreCommAbort(position_.comm);
  }

  Problem run() {
    if (Problem p = join()) return p;
    if (Problem p = introduce(Event::card)) return p;
    {
      Runner runner(options_, collective_, position_);
      if (Problem p = runner.run()) return p;
      if (options_.memory_report)
        if (Problem p = introduce(Event::memory)) return p;
      // Nobody frees what a slower peer may still read.
      if (Problem p = position_.meeting->barrier()) return p;
    }
    Problem problem = problem_of(gyreCommDestroy(position_.comm), "gyreCommDestroy", nullptr);
    position_.comm = nullptr;
    return problem;
  }

 private:
  Problem join() {
    if (spec_.launched) return join_launched();
    if (spec_.index == 0)
      if (Problem p = problem_of(gyreGetUniqueId(&page_.id()), "gyreGetUniqueId", nullptr))
        return p;
    if (!page_.barrier()) return kLeft;
    position_.rank = spec_.index;
    position_.ranks = page_.seats();
    if (Problem p = problem_of(
            gyreCommInitRank(&position_.comm, position_.ranks, page_.id(), position_.rank),
            "gyreCommInitRank", nullptr))
      return p;
    meeting_ = std::make_unique<PageMeeting>(page_, position_.rank);
    return settle();
  }

  Problem join_launched() {
    if (Problem p = problem_of(gyreCommInitFromEnv(&position_.comm, nullptr), "gyreCommInitFromEnv",
                               nullptr))
      return p;
    if (Problem p = problem_of(gyreCommUserRank(position_.comm, &position_.rank),
                               "gyreCommUserRank", position_.comm))
      return p;
    if (Problem p = problem_of(gyreCommCount(position_.comm, &position_.ranks), "gyreCommCount",
                               position_.comm))
      return p;
    meeting_ = std::make_unique<CommMeeting>(position_.comm);
    return settle();
  }

  Problem settle() {
    position_.meeting = meeting_.get();
    position_.seat = &page_.seat(spec_.index);
    // One write per event: shorter than PIPE_BUF, so the reader never sees a part.
    position_.report = [fd = spec_.report_fd](const Event& event) {
      while (write(fd, &event, sizeof(event)) < 0 && errno == EINTR) {
      }
    };
    return std::nullopt;
  }

  // Tells rank 0's report about every rank.
  Problem introduce(Event::Kind kind) {
    RankCard card = own_card(position_.rank, position_.ranks);
    card.resident_bytes = resident_bytes();
    std::vector<RankCard> all(static_cast<std::size_t>(position_.ranks));
    if (Problem p = position_.meeting->gather(&card, sizeof(card), all.data())) return p;
    if (position_.rank != 0) return std::nullopt;
    for (const RankCard& one : all) {
      Event event;
      event.kind = kind;
      event.rank = one;
      position_.report(event);
    }
    return std::nullopt;
  }

  const Options& options_;
  const Collective& collective_;
  const Page& page_;
  const SeatSpec& spec_;
  Position position_;
  std::unique_ptr<Meeting> meeting_;
};

}  // namespace

void take_seat(const Options& options, const Collective& collective, const Page& page,
               const SeatSpec& spec) {
  if (options.pin) pin_to(spec.index);
  Problem problem;
  {
    Member member(options, collective, page, spec);
    problem = member.run();
  }
  Seat& seat = page.seat(spec.index);
  if (!problem) {
    seat.state.store(SeatState::done, std::memory_order_release);
  } else if (*problem == kLeft) {
    seat.state.store(SeatState::left, std::memory_order_release);
  } else {
    page.fail(spec.index, *problem);
  }
}

}  // namespace perf
