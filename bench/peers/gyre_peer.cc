// gyre as a peer. --memory plain: any memory; registered: gyreMemAlloc, which local peers can map.
#include <gyre/gyre.h>

#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "harness.h"

namespace {

using peers::Collective;

// The id is made by rank 0, whose process serves as root, and read by the others.
struct Published {
  std::atomic<int> ready;
  gyreUniqueId id;
};

struct Settings {
  peers::Plan plan;
  std::string page;
  bool registered = false;
  int ranks = 2;
  Published* published = nullptr;  // on a page the forked ranks share
};

void must(gyreResult_t result, const char* call, gyreComm_t comm) {
  if (result == gyreSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, gyreGetLastError(comm));
  std::_Exit(1);
}

class Gyre final : public peers::Peer {
 public:
  Gyre(const gyreUniqueId& id, bool registered, int rank, int ranks)
      : registered_(registered), rank_(rank) {
    must(gyreCommInitRank(&comm_, ranks, id, rank), "gyreCommInitRank", nullptr);
  }
  ~Gyre() override { must(gyreCommDestroy(comm_), "gyreCommDestroy", nullptr); }

  const char* name() const override { return registered_ ? "gyre-registered" : "gyre"; }
  bool can(Collective) const override { return true; }

  void* allocate(std::size_t bytes) override {
    if (!registered_) return Peer::allocate(bytes);
    void* memory = nullptr;
    must(gyreMemAlloc(&memory, bytes), "gyreMemAlloc", comm_);
    must(gyreCommRegister(comm_, memory, bytes, &handles_[memory]), "gyreCommRegister", comm_);
    return memory;
  }
  void release(void* memory) override {
    if (!registered_) return Peer::release(memory);
    must(gyreCommDeregister(comm_, handles_[memory]), "gyreCommDeregister", comm_);
    handles_.erase(memory);
    must(gyreMemFree(memory), "gyreMemFree", comm_);
  }

  void run(Collective collective, const float* send, float* recv, std::size_t count) override {
    must(call(collective, send, recv, count), peers::to_text(collective), comm_);
  }

 private:
  gyreResult_t call(Collective collective, const float* send, float* recv, std::size_t count) {
    switch (collective) {
      case Collective::all_reduce:
        return gyreAllReduce(send, recv, count, gyreFloat32, gyreSum, comm_, nullptr);
      case Collective::broadcast:
        return gyreBcast(rank_ == 0 ? const_cast<float*>(send) : recv, count, gyreFloat32, 0, comm_,
                         nullptr);
      case Collective::all_gather:
        return gyreAllGather(send, recv, count, gyreFloat32, comm_, nullptr);
      case Collective::reduce_scatter:
        return gyreReduceScatter(send, recv, count, gyreFloat32, gyreSum, comm_, nullptr);
      case Collective::alltoall:
        return gyreAlltoAll(send, recv, count, gyreFloat32, comm_, nullptr);
    }
    return gyreInternalError;
  }

  bool registered_;
  int rank_;
  gyreComm_t comm_ = nullptr;
  std::map<void*, void*> handles_;
};

int body(int rank, int ranks, void* argument) {
  const auto& settings = *static_cast<Settings*>(argument);
  Published& published = *settings.published;
  if (rank == 0) {
    must(gyreGetUniqueId(&published.id), "gyreGetUniqueId", nullptr);
    published.ready.store(1, std::memory_order_release);
  }
  while (published.ready.load(std::memory_order_acquire) == 0) sched_yield();
  Gyre gyre(published.id, settings.registered, rank, ranks);
  return peers::measure(gyre, settings.plan, rank, ranks, settings.page);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> rest;
  settings.plan = peers::parse_plan(argc, argv, rest);
  for (std::size_t i = 0; i + 1 < rest.size(); i += 2) {
    if (rest[i] == "--page") settings.page = rest[i + 1];
    if (rest[i] == "--memory") settings.registered = rest[i + 1] == "registered";
    if (rest[i] == "--ranks") settings.ranks = std::atoi(rest[i + 1].c_str());
  }
  void* page =
      mmap(nullptr, sizeof(Published), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 1;
  settings.published = new (page) Published{};
  return peers::fork_ranks(settings.ranks, body, &settings);
}
