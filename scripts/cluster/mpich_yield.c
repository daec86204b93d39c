// Preloaded into ranks of an MPICH that uses UCX: gives the processor away when there was nothing
// to do, which MPICH 4.0 does not do by itself. With more ranks than processors its waits cost
// whole time slices otherwise.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void* worker) {
  static unsigned (*real)(void*);
  if (!real) real = (unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress");
  const unsigned progress = real(worker);
  if (progress == 0) sched_yield();
  return progress;
}
