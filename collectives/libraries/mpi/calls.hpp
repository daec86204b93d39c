#pragma once
#include <cstdint>
#include <mpi.h>
#include <vector>

#include "core/types.hpp"

namespace commtune {

/// Counts and displacements of the parts of one buffer, as the v-collectives take them.
struct Parts {
  std::vector<int> counts, displacements;
  void add(std::uint64_t count) {
    const int next = counts.empty() ? 0 : displacements.back() + counts.back();
    counts.push_back(static_cast<int>(count));
    displacements.push_back(next);
  }
};

/// The arguments of one MPI collective.
struct MpiCall {
  MPI_Comm comm;
  Collective collective;
  bool uneven = false;  ///< the parts differ: `sent` and `received` say their counts
  int count = 0, root = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  const void* source = nullptr;
  void* target = nullptr;
  Parts sent, received;  ///< `received` only of alltoall
};

/// Both return MPI's error code; MPI_ERR_OTHER for what MPI has no collective for.
int blocking(const MpiCall&);
int nonblocking(const MpiCall&, MPI_Request*);

}  // namespace commtune
