/* Bare ping-pong: half the round trip in us, median of 2000 samples of 200 round trips. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { samples = 2000, repeats = 200 };

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  static double us[samples];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int bytes = argc > 1 ? atoi(argv[1]) : 8;
  char* data = calloc(1, (size_t)bytes);
  for (int k = 0; k < samples; ++k) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < repeats; ++i) {
      if (rank == 0) {
        MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else if (rank == 1) {
        MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      }
    }
    us[k] = (MPI_Wtime() - begin) / repeats / 2 * 1e6;
  }
  if (rank == 0) {
    qsort(us, samples, sizeof us[0], ascending);
    printf("%.4f\n", us[samples / 2]);
  }
  free(data);
  MPI_Finalize();
  return 0;
}
