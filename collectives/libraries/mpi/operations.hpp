#pragma once
#include <memory>
#include <mpi.h>
#include <string>

#include "collectives/runtime/operation.hpp"

namespace commtune {

/// Empty when MPI can do the call; otherwise the reason.
std::string mpi_unsupported(const Call&);
/// A collective of the library: run() is the blocking call, start/progress the non-blocking one.
/// `comm` outlives the operation.
std::unique_ptr<Operation> mpi_operation(MPI_Comm comm, const Call&);

}  // namespace commtune
