#include "harness.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace peers {
namespace {

constexpr int kRanksMax = 256;
constexpr int kSamplesMax = 400;
constexpr int kSamplesMin = 5;
constexpr double kSampleSeconds = 200e-6;  // a hot sample is a batch about this long

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Page {
  std::atomic<unsigned> arrived;
  std::atomic<unsigned> round;
  std::atomic<int> batch, samples;
  std::atomic<int> wrong;
  double seconds[kRanksMax];
};

class Bench {
 public:
  Bench(Peer& peer, const Plan& plan, int rank, int ranks, const std::string& path)
      : peer_(peer), plan_(plan), rank_(rank), ranks_(ranks), path_(path) {}

  int run() {
    if (!open()) return 1;
    int status = 0;
    for (Collective collective : plan_.collectives) {
      if (!peer_.can(collective)) continue;
      for (std::size_t bytes : plan_.sizes)
        if (!point(collective, bytes)) status = 1;
    }
    barrier();
    if (rank_ == 0) unlink(path_.c_str());
    return status;
  }

 private:
  bool open() {
    const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(Page)) != 0) {
      std::perror(path_.c_str());
      return false;
    }
    void* memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    page_ = static_cast<Page*>(memory);
    crowded_ = ranks_ > sysconf(_SC_NPROCESSORS_ONLN);
    return memory != MAP_FAILED && ranks_ <= kRanksMax;
  }

  void barrier() {
    const unsigned round = page_->round.load(std::memory_order_acquire);
    if (page_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 ==
        static_cast<unsigned>(ranks_)) {
      page_->arrived.store(0, std::memory_order_relaxed);
      page_->round.store(round + 1, std::memory_order_release);
      return;
    }
    for (int turn = 0; page_->round.load(std::memory_order_acquire) == round; ++turn)
      if (crowded_ || turn > 100000) sched_yield();
  }

  // Elements of one call for a size that is the larger of the two buffers.
  std::size_t count_of(Collective collective, std::size_t bytes) const {
    const bool whole = collective == Collective::all_reduce || collective == Collective::broadcast;
    const std::size_t parts = whole ? 1 : static_cast<std::size_t>(ranks_);
    return std::max<std::size_t>(1, bytes / sizeof(float) / parts);
  }

  std::size_t blocks_sent(Collective collective) const {
    return collective == Collective::reduce_scatter || collective == Collective::alltoall
               ? static_cast<std::size_t>(ranks_)
               : 1;
  }
  std::size_t blocks_received(Collective collective) const {
    return collective == Collective::all_gather || collective == Collective::alltoall
               ? static_cast<std::size_t>(ranks_)
               : 1;
  }

  // Small integers: sums are exact in float in any order.
  static float value(std::size_t i, int rank, int turn) {
    return static_cast<float>((i * 7 + static_cast<std::size_t>(rank * 3 + turn)) % 61);
  }
  void fill(float* send, std::size_t count, int turn) const {
    for (std::size_t i = 0; i < count; ++i) send[i] = value(i, rank_, turn);
  }

  float expected(Collective collective, std::size_t i, std::size_t count, int turn) const {
    const std::size_t mine = static_cast<std::size_t>(rank_) * count;
    const auto block = static_cast<int>(i / count);
    switch (collective) {
      case Collective::broadcast:
        return value(i, 0, turn);
      case Collective::all_gather:
        return value(i % count, block, turn);
      case Collective::alltoall:
        return value(mine + i % count, block, turn);
      case Collective::all_reduce:
      case Collective::reduce_scatter:
        break;
    }
    const std::size_t at = collective == Collective::reduce_scatter ? mine + i : i;
    float sum = 0;
    for (int r = 0; r < ranks_; ++r) sum += value(at, r, turn);
    return sum;
  }

  bool is_right(Collective collective, float* send, float* recv, std::size_t count, int turn) {
    const std::size_t received = count * blocks_received(collective);
    fill(send, count * blocks_sent(collective), turn);
    std::memset(recv, 0xff, received * sizeof(float));
    barrier();
    peer_.run(collective, send, recv, count);
    // The root of a broadcast has its result already.
    const bool has_result = collective != Collective::broadcast || rank_ != 0;
    std::size_t wrong = 0;
    for (std::size_t i = 0; has_result && i < received; ++i)
      if (recv[i] != expected(collective, i, count, turn)) ++wrong;
    if (wrong > 0) page_->wrong.store(1);
    barrier();
    return page_->wrong.load() == 0;
  }

  // Seconds per operation of one sample, the slowest rank's; the same answer on every rank.
  double sample(Collective collective, float* send, float* recv, std::size_t count, int batch) {
    if (plan_.produced) fill(send, count * blocks_sent(collective), batch);
    barrier();
    const double start = now();
    for (int i = 0; i < batch; ++i) peer_.run(collective, send, recv, count);
    page_->seconds[rank_] = (now() - start) / batch;
    barrier();
    const double slowest = *std::max_element(page_->seconds, page_->seconds + ranks_);
    barrier();
    return slowest;
  }

  void choose_batch(Collective collective, float* send, float* recv, std::size_t count) {
    double once = 1;
    for (int i = 0; i < 3; ++i) once = std::min(once, sample(collective, send, recv, count, 1));
    if (rank_ == 0) {
      const int fitting = static_cast<int>(kSampleSeconds / std::max(once, 1e-8));
      const int batch = plan_.produced ? 1 : std::clamp(fitting, 1, 1000);
      const double wanted = plan_.budget / (once * batch);
      page_->batch = batch;
      page_->samples = static_cast<int>(std::clamp<double>(wanted, kSamplesMin, kSamplesMax));
    }
    barrier();
  }

  bool point(Collective collective, std::size_t bytes) {
    const std::size_t count = count_of(collective, bytes);
    const std::size_t sent = count * blocks_sent(collective) * sizeof(float);
    const std::size_t received = count * blocks_received(collective) * sizeof(float);
    auto* send = static_cast<float*>(peer_.allocate(sent));
    auto* recv = static_cast<float*>(peer_.allocate(received));
    if (!send || !recv) {
      std::fprintf(stderr, "%s: no memory for %zu bytes\n", peer_.name(), bytes);
      std::_Exit(1);  // peers would wait in the barrier; the launcher ends them
    }
    std::memset(send, 0, sent);
    std::memset(recv, 0, received);
    peer_.prepare(collective, send, recv, count);
    if (rank_ == 0) page_->wrong = 0;
    barrier();
    bool right = is_right(collective, send, recv, count, 1);
    choose_batch(collective, send, recv, count);
    std::vector<double> samples;
    for (int i = 0; i < page_->samples; ++i)
      samples.push_back(sample(collective, send, recv, count, page_->batch));
    right = is_right(collective, send, recv, count, 2) && right;
    std::nth_element(samples.begin(), samples.begin() + static_cast<long>(samples.size() / 2),
                     samples.end());
    if (rank_ == 0) {
      std::printf("%s %s %d %zu %.3f %s\n", peer_.name(), to_text(collective), ranks_, bytes,
                  samples[samples.size() / 2] * 1e6, right ? "ok" : "WRONG");
      std::fflush(stdout);
    }
    barrier();
    peer_.release(send);
    peer_.release(recv);
    return right;
  }

  Peer& peer_;
  const Plan& plan_;
  int rank_, ranks_;
  std::string path_;
  Page* page_ = nullptr;
  bool crowded_ = false;
};

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "not understood: %s\n", what.c_str());
  std::exit(2);
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> list(1);
  for (char c : text) {
    if (c == ',') {
      list.emplace_back();
    } else {
      list.back() += c;
    }
  }
  return list;
}

std::size_t size_of(const std::string& text) {
  char* end = nullptr;
  const std::size_t number = std::strtoull(text.c_str(), &end, 10);
  const std::string unit(end);
  if (unit.empty() && end != text.c_str()) return number;
  if (unit == "K") return number << 10;
  if (unit == "M") return number << 20;
  if (unit == "G") return number << 30;
  refuse("size " + text);
}

Collective collective_of(const std::string& text) {
  for (int i = 0; i <= static_cast<int>(Collective::alltoall); ++i)
    if (text == to_text(static_cast<Collective>(i))) return static_cast<Collective>(i);
  refuse("collective " + text);
}

}  // namespace

const char* to_text(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::broadcast:
      return "broadcast";
    case Collective::all_gather:
      return "all_gather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::alltoall:
      return "alltoall";
  }
  return "?";
}

void* Peer::allocate(std::size_t bytes) {
  return std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
}
void Peer::release(void* memory) { std::free(memory); }

Plan parse_plan(int argc, char** argv, std::vector<std::string>& rest) {
  Plan plan;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (i + 1 == argc) refuse(flag + " without a value");
    const std::string value = argv[i + 1];
    if (flag == "--sizes") {
      for (const std::string& word : words(value)) plan.sizes.push_back(size_of(word));
    } else if (flag == "--collectives") {
      for (const std::string& word : words(value)) plan.collectives.push_back(collective_of(word));
    } else if (flag == "--touch") {
      if (value != "hot" && value != "produced") refuse("--touch " + value);
      plan.produced = value == "produced";
    } else if (flag == "--budget") {
      plan.budget = std::strtod(value.c_str(), nullptr);
    } else {
      rest.insert(rest.end(), {flag, value});
    }
  }
  if (plan.sizes.empty() || plan.collectives.empty()) refuse("no --sizes or no --collectives");
  return plan;
}

int measure(Peer& peer, const Plan& plan, int rank, int ranks, const std::string& page) {
  return Bench(peer, plan, rank, ranks, page).run();
}

int fork_ranks(int ranks, int (*body)(int, int, void*), void* argument) {
  std::vector<pid_t> pids;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int status = body(rank, ranks, argument);
      std::fflush(stdout);
      _exit(status);
    }
    pids.push_back(pid);
  }
  int worst = 0;
  for (std::size_t left = pids.size(); left > 0; --left) {
    int status = 0;
    if (wait(&status) < 0) return 1;
    if (status == 0) continue;
    worst = 1;
    if (!WIFSIGNALED(status)) continue;
    // The others wait for the dead in the harness's barrier.
    for (pid_t pid : pids) kill(pid, SIGKILL);
  }
  return worst;
}

}  // namespace peers
