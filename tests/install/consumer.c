/* A stranger's program: plain C11 against the installed header and library. Two ranks in one
 * process add their numbers. */
#include <stdio.h>

#include <gyre/gyre.h>

int main(void) {
  gyreComm_t comms[2];
  int version = 0, rank;
  float in[2] = {1.5f, 2.0f}, out[2] = {0, 0};
  if (gyreGetVersion(&version) != gyreSuccess || version != GYRE_VERSION_CODE) {
    fprintf(stderr, "library is version %d, header %d\n", version, GYRE_VERSION_CODE);
    return 1;
  }
  if (gyreCommInitAll(comms, 2, NULL) != gyreSuccess) {
    fprintf(stderr, "init: %s\n", gyreGetLastError(NULL));
    return 1;
  }
  gyreGroupStart();
  for (rank = 0; rank < 2; ++rank)
    gyreAllReduce(&in[rank], &out[rank], 1, gyreFloat32, gyreSum, comms[rank], NULL);
  if (gyreGroupEnd() != gyreSuccess) {
    fprintf(stderr, "all_reduce: %s\n", gyreGetLastError(comms[0]));
    return 1;
  }
  for (rank = 0; rank < 2; ++rank) gyreCommDestroy(comms[rank]);
  printf("%g %g\n", out[0], out[1]);
  return out[0] == 3.5f && out[1] == 3.5f ? 0 : 1;
}
