#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record.hpp"

namespace commtune {

/// The variables of "NAME=value" strings whose names matter to a communication library: OMPI_,
/// MPICH_, MPIR_, UCX_, NCCL_, CUDA_, OMP_, OPENBLAS_, SLURM_ and MALLOC_.
Json select_environment(std::span<const char* const> variables);

/// What a reader must know about the libraries of all ranks, as sentences: built against another
/// major.minor than was loaded, or ranks that loaded different files.
std::vector<std::string> library_warnings(const std::vector<LoadedLibrary>& ranks);

}  // namespace commtune
