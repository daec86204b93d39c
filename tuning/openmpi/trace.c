/* Tells which algorithm served a collective of Open MPI. Preloaded into the ranks; coll/tuned and
 * its siblings find their algorithms, ompi_coll_base_*, by name in the process, so the wrappers
 * here come first. No MPI header is needed: every argument of these functions is an integer or a
 * pointer, and each travels in one word on the 64-bit Linux calling conventions. The longest
 * takes 11. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

typedef long Word;
typedef Word (*Function)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);

enum { mpi_err_intern = 17 };

enum { collectives_seen_max = 32 };

static struct {
  int depth;      /* algorithms entered and not left */
  int delegating; /* all of them serve one collective */
  int current;    /* the outermost one's entry below */
  int seen;       /* entries in use */
  struct {
    const char *collective, *algorithm;
    unsigned long calls;
  } last[collectives_seen_max];
} trace;

/* "ring", "recursive_doubling": the algorithm of the last outermost collective of this process,
 * NULL before the first. An algorithm that hands the whole call to another one of the same
 * collective (ring does for short vectors) counts as the other one. */
const char* commtune_observed_algorithm(void) {
  return trace.seen == 0 ? NULL : trace.last[trace.current].algorithm;
}

static int find(const char* collective) {
  int i = 0;
  while (i < trace.seen && strcmp(trace.last[i].collective, collective) != 0) ++i;
  return i;
}

/* The same for one collective by Open MPI's name, "allreduce" or "bcast". */
const char* commtune_observed_algorithm_of(const char* collective) {
  const int i = find(collective);
  return i == trace.seen ? NULL : trace.last[i].algorithm;
}

/* Outermost calls of one collective so far. */
unsigned long commtune_observed_calls(const char* collective) {
  const int i = find(collective);
  return i == trace.seen ? 0 : trace.last[i].calls;
}

static void enter(const char* collective, const char* algorithm) {
  if (trace.depth++ == 0) {
    trace.current = find(collective);
    if (trace.current == collectives_seen_max) trace.current = 0;
    if (trace.current == trace.seen) ++trace.seen;
    trace.last[trace.current].collective = collective;
    ++trace.last[trace.current].calls;
    trace.delegating = 1;
  } else if (strcmp(trace.last[trace.current].collective, collective) != 0) {
    trace.delegating = 0;
  }
  if (trace.delegating) trace.last[trace.current].algorithm = algorithm;
}

static int open_mpi_library(struct dl_phdr_info* info, size_t size, void* handle) {
  (void)size;
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* file = slash != NULL ? slash + 1 : info->dlpi_name;
  if (strncmp(file, "libmpi.so", 9) != 0) return 0;
  *(void**)handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  return *(void**)handle != NULL;
}

/* The library itself may have been opened privately, out of RTLD_NEXT's sight. */
static Function find_original(const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  if (symbol == NULL) {
    void* handle = NULL;
    dl_iterate_phdr(open_mpi_library, &handle);
    if (handle != NULL) symbol = dlsym(handle, name);
  }
  if (symbol == NULL) fprintf(stderr, "commtune_openmpi_trace: libmpi has no %s\n", name);
  Function function;
  memcpy(&function, &symbol, sizeof function);
  return function;
}

#define TRACE(function, collective, algorithm)                                                  \
  Word function(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, \
                Word k, Word l) {                                                               \
    static Function original;                                                                   \
    if (original == NULL) original = find_original(#function);                                  \
    if (original == NULL) return mpi_err_intern;                                                \
    enter(collective, algorithm);                                                               \
    const Word status = original(a, b, c, d, e, f, g, h, i, j, k, l);                           \
    --trace.depth;                                                                              \
    return status;                                                                              \
  }

TRACE(ompi_coll_base_allgather_intra_basic_linear, "allgather", "linear")
TRACE(ompi_coll_base_allgather_intra_bruck, "allgather", "bruck")
TRACE(ompi_coll_base_allgather_intra_neighborexchange, "allgather", "neighbor")
TRACE(ompi_coll_base_allgather_intra_recursivedoubling, "allgather", "recursive_doubling")
TRACE(ompi_coll_base_allgather_intra_ring, "allgather", "ring")
TRACE(ompi_coll_base_allgather_intra_two_procs, "allgather", "two_proc")
TRACE(ompi_coll_base_allgatherv_intra_basic_default, "allgatherv", "default")
TRACE(ompi_coll_base_allgatherv_intra_bruck, "allgatherv", "bruck")
TRACE(ompi_coll_base_allgatherv_intra_neighborexchange, "allgatherv", "neighbor")
TRACE(ompi_coll_base_allgatherv_intra_ring, "allgatherv", "ring")
TRACE(ompi_coll_base_allgatherv_intra_two_procs, "allgatherv", "two_proc")
TRACE(ompi_coll_base_allreduce_intra_basic_linear, "allreduce", "basic_linear")
TRACE(ompi_coll_base_allreduce_intra_nonoverlapping, "allreduce", "nonoverlapping")
TRACE(ompi_coll_base_allreduce_intra_recursivedoubling, "allreduce", "recursive_doubling")
TRACE(ompi_coll_base_allreduce_intra_redscat_allgather, "allreduce", "rabenseifner")
TRACE(ompi_coll_base_allreduce_intra_ring, "allreduce", "ring")
TRACE(ompi_coll_base_allreduce_intra_ring_segmented, "allreduce", "segmented_ring")
TRACE(ompi_coll_base_alltoall_intra_basic_linear, "alltoall", "linear")
TRACE(ompi_coll_base_alltoall_intra_bruck, "alltoall", "modified_bruck")
TRACE(ompi_coll_base_alltoall_intra_linear_sync, "alltoall", "linear_sync")
TRACE(ompi_coll_base_alltoall_intra_pairwise, "alltoall", "pairwise")
TRACE(ompi_coll_base_alltoall_intra_two_procs, "alltoall", "two_proc")
TRACE(ompi_coll_base_alltoallv_intra_basic_linear, "alltoallv", "basic_linear")
TRACE(ompi_coll_base_alltoallv_intra_pairwise, "alltoallv", "pairwise")
TRACE(ompi_coll_base_barrier_intra_basic_linear, "barrier", "linear")
TRACE(ompi_coll_base_barrier_intra_bruck, "barrier", "bruck")
TRACE(ompi_coll_base_barrier_intra_doublering, "barrier", "double_ring")
TRACE(ompi_coll_base_barrier_intra_recursivedoubling, "barrier", "recursive_doubling")
TRACE(ompi_coll_base_barrier_intra_tree, "barrier", "tree")
TRACE(ompi_coll_base_barrier_intra_two_procs, "barrier", "two_proc")
TRACE(ompi_coll_base_bcast_intra_basic_linear, "bcast", "basic_linear")
TRACE(ompi_coll_base_bcast_intra_binomial, "bcast", "binomial")
TRACE(ompi_coll_base_bcast_intra_bintree, "bcast", "binary_tree")
TRACE(ompi_coll_base_bcast_intra_chain, "bcast", "chain")
TRACE(ompi_coll_base_bcast_intra_knomial, "bcast", "knomial")
TRACE(ompi_coll_base_bcast_intra_pipeline, "bcast", "pipeline")
TRACE(ompi_coll_base_bcast_intra_scatter_allgather, "bcast", "scatter_allgather")
TRACE(ompi_coll_base_bcast_intra_scatter_allgather_ring, "bcast", "scatter_allgather_ring")
TRACE(ompi_coll_base_bcast_intra_split_bintree, "bcast", "split_binary_tree")
TRACE(ompi_coll_base_exscan_intra_linear, "exscan", "linear")
TRACE(ompi_coll_base_exscan_intra_recursivedoubling, "exscan", "recursive_doubling")
TRACE(ompi_coll_base_gather_intra_basic_linear, "gather", "basic_linear")
TRACE(ompi_coll_base_gather_intra_binomial, "gather", "binomial")
TRACE(ompi_coll_base_gather_intra_linear_sync, "gather", "linear_sync")
TRACE(ompi_coll_base_reduce_intra_basic_linear, "reduce", "linear")
TRACE(ompi_coll_base_reduce_intra_binary, "reduce", "binary")
TRACE(ompi_coll_base_reduce_intra_binomial, "reduce", "binomial")
TRACE(ompi_coll_base_reduce_intra_chain, "reduce", "chain")
TRACE(ompi_coll_base_reduce_intra_in_order_binary, "reduce", "in-order_binary")
TRACE(ompi_coll_base_reduce_intra_pipeline, "reduce", "pipeline")
TRACE(ompi_coll_base_reduce_intra_redscat_gather, "reduce", "rabenseifner")
TRACE(ompi_coll_base_reduce_scatter_block_basic_linear, "reduce_scatter_block", "basic_linear")
TRACE(ompi_coll_base_reduce_scatter_block_intra_butterfly, "reduce_scatter_block", "butterfly")
TRACE(ompi_coll_base_reduce_scatter_block_intra_recursivedoubling, "reduce_scatter_block",
      "recursive_doubling")
TRACE(ompi_coll_base_reduce_scatter_block_intra_recursivehalving, "reduce_scatter_block",
      "recursive_halving")
TRACE(ompi_coll_base_reduce_scatter_intra_basic_recursivehalving, "reduce_scatter",
      "recursive_halving")
TRACE(ompi_coll_base_reduce_scatter_intra_butterfly, "reduce_scatter", "butterfly")
TRACE(ompi_coll_base_reduce_scatter_intra_nonoverlapping, "reduce_scatter", "non-overlapping")
TRACE(ompi_coll_base_reduce_scatter_intra_ring, "reduce_scatter", "ring")
TRACE(ompi_coll_base_scan_intra_linear, "scan", "linear")
TRACE(ompi_coll_base_scan_intra_recursivedoubling, "scan", "recursive_doubling")
TRACE(ompi_coll_base_scatter_intra_basic_linear, "scatter", "basic_linear")
TRACE(ompi_coll_base_scatter_intra_binomial, "scatter", "binomial")
TRACE(ompi_coll_base_scatter_intra_linear_nb, "scatter", "linear_nb")
