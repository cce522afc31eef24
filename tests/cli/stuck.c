/* A job in which rank 1 never makes the second call: something for `gyre status` to show. */
#include <gyre/gyre.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  gyreComm_t comm;
  gyreConfig_t config = GYRE_CONFIG_INITIALIZER;
  config.commName = argv[1];
  if (gyreCommInitFromEnv(&comm, &config) != gyreSuccess) {
    fprintf(stderr, "%s\n", gyreGetLastError(NULL));
    return 1;
  }
  int rank = 0;
  gyreCommUserRank(comm, &rank);
  float in[2] = {1, 2}, out[2];
  if (gyreAllReduce(in, out, 2, gyreFloat32, gyreSum, comm, NULL) != gyreSuccess) return 1;
  if (rank == 1) pause(); /* until the test ends the job */
  gyreAllReduce(in, out, 2, gyreFloat32, gyreSum, comm, NULL);
  return 1;
}
