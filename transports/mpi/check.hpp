#pragma once
#include <mpi.h>
#include <string_view>

#include "core/types.hpp"

namespace commtune::mpi {

/// Throws Error(peer) with the library's text unless `code` is MPI_SUCCESS.
void check(int code, std::string_view call, Rank rank);

}  // namespace commtune::mpi
