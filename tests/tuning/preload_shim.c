/* Leaves one byte in the file PRELOAD_SHIM_MARK for every MPI rank it is loaded into. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void leave_mark(void) {
  const char* path = getenv("PRELOAD_SHIM_MARK");
  FILE* file;
  if (path == NULL || getenv("OMPI_COMM_WORLD_RANK") == NULL) return;
  file = fopen(path, "a");
  if (file == NULL) return;
  fputc('r', file);
  fclose(file);
}
