// MPI as a peer; compiled once per implementation, whose name comes from the build.
#include <mpi.h>

#include "harness.h"

#ifndef PEER_NAME
#error "PEER_NAME names the MPI implementation"
#endif

namespace {

using peers::Collective;

class Mpi final : public peers::Peer {
 public:
  const char* name() const override { return PEER_NAME; }
  bool can(Collective) const override { return true; }

  void run(Collective collective, const float* send, float* recv, std::size_t count) override {
    const int n = static_cast<int>(count);
    switch (collective) {
      case Collective::all_reduce:
        MPI_Allreduce(send, recv, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
      case Collective::broadcast: {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Bcast(rank == 0 ? const_cast<float*>(send) : recv, n, MPI_FLOAT, 0, MPI_COMM_WORLD);
        return;
      }
      case Collective::all_gather:
        MPI_Allgather(send, n, MPI_FLOAT, recv, n, MPI_FLOAT, MPI_COMM_WORLD);
        return;
      case Collective::reduce_scatter:
        MPI_Reduce_scatter_block(send, recv, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
      case Collective::alltoall:
        MPI_Alltoall(send, n, MPI_FLOAT, recv, n, MPI_FLOAT, MPI_COMM_WORLD);
        return;
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<std::string> rest;
  const peers::Plan plan = peers::parse_plan(argc, argv, rest);
  int status = 2;
  if (rest.size() == 2 && rest[0] == "--page") {
    Mpi mpi;
    status = peers::measure(mpi, plan, rank, ranks, rest[1]);
  }
  MPI_Finalize();
  return status;
}
