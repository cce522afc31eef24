// Gloo over TCP on loopback, its only transport between processes of a host. --algorithm ring is
// its default all-reduce; hd is its older recursive halving and doubling, often faster when small.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "harness.h"

namespace {

using peers::Collective;

struct Settings {
  peers::Plan plan;
  std::string page, store, algorithm = "ring";
  int ranks = 2;
};

// Newer releases take a shared store, older ones a reference.
template <class Context, class Store, class Device>
auto connect(Context& context, const std::shared_ptr<Store>& store, Device& device, int)
    -> decltype(context.connectFullMesh(store, device)) {
  return context.connectFullMesh(store, device);
}
template <class Context, class Store, class Device>
void connect(Context& context, const std::shared_ptr<Store>& store, Device& device, long) {
  context.connectFullMesh(*store, device);
}

class Gloo final : public peers::Peer {
 public:
  Gloo(const Settings& settings, int rank, int ranks)
      : name_("gloo-" + settings.algorithm), halving_(settings.algorithm == "hd"), rank_(rank) {
    auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"));
    auto store = std::make_shared<gloo::rendezvous::FileStore>(settings.store);
    context_ = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    connect(*context_, store, device, 0);
  }

  const char* name() const override { return name_.c_str(); }
  bool can(Collective collective) const override {
    if (halving_) return collective == Collective::all_reduce;
    return collective != Collective::reduce_scatter;
  }

  void prepare(Collective, const float*, float* recv, std::size_t count) override {
    in_place_.reset();
    if (halving_)
      in_place_ = std::make_unique<gloo::AllreduceHalvingDoubling<float>>(
          context_, std::vector<float*>{recv}, static_cast<int>(count));
  }

  void run(Collective collective, const float* send, float* recv, std::size_t count) override {
    auto* input = const_cast<float*>(send);
    const auto size = static_cast<std::size_t>(context_->size);
    switch (collective) {
      case Collective::all_reduce:
        return all_reduce(input, recv, count);
      case Collective::broadcast: {
        gloo::BroadcastOptions options(context_);
        options.setOutput(rank_ == 0 ? input : recv, count);
        options.setRoot(0);
        return gloo::broadcast(options);
      }
      case Collective::all_gather: {
        gloo::AllgatherOptions options(context_);
        options.setInput(input, count);
        options.setOutput(recv, count * size);
        return gloo::allgather(options);
      }
      case Collective::alltoall: {
        gloo::AlltoallOptions options(context_);
        options.setInput(input, count * size);
        options.setOutput(recv, count * size);
        return gloo::alltoall(options);
      }
      case Collective::reduce_scatter:
        return;
    }
  }

 private:
  void all_reduce(float* input, float* recv, std::size_t count) {
    if (in_place_) {
      // It knows one buffer only; an application with its input elsewhere would copy it too.
      std::memcpy(recv, input, count * sizeof(float));
      return in_place_->run();
    }
    using Sum = void (*)(void*, const void*, const void*, std::size_t);
    gloo::AllreduceOptions options(context_);
    options.setInput(input, count);
    options.setOutput(recv, count);
    options.setReduceFunction(static_cast<Sum>(&gloo::sum<float>));
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    gloo::allreduce(options);
  }

  std::string name_;
  bool halving_;
  int rank_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::unique_ptr<gloo::Algorithm> in_place_;
};

int body(int rank, int ranks, void* argument) {
  const auto& settings = *static_cast<Settings*>(argument);
  Gloo gloo(settings, rank, ranks);
  return peers::measure(gloo, settings.plan, rank, ranks, settings.page);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> rest;
  settings.plan = peers::parse_plan(argc, argv, rest);
  for (std::size_t i = 0; i + 1 < rest.size(); i += 2) {
    if (rest[i] == "--page") settings.page = rest[i + 1];
    if (rest[i] == "--store") settings.store = rest[i + 1];
    if (rest[i] == "--algorithm") settings.algorithm = rest[i + 1];
    if (rest[i] == "--ranks") settings.ranks = std::atoi(rest[i + 1].c_str());
  }
  return peers::fork_ranks(settings.ranks, body, &settings);
}
