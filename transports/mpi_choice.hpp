#pragma once
#include <string>

#include "transports/job.hpp"

namespace commtune {

/// One of the MPI families that modules exist for, and the installation to use.
struct MpiChoice {
  std::string flavour;   ///< "openmpi" or "mpich"; names the modules
  std::string launcher;  ///< its mpirun; empty when none is known
  std::string library;   ///< file that the modules must use; empty: the one they were built with
};

/// What `asked` ("openmpi", "mpich", the path of an installation or of its library, or empty for
/// what the launcher or else the build suggests) stands for. Throws Error(unavailable) when the
/// build has no module for it, Error(usage) on a path that holds no MPI library. Loads the choice's
/// library and transport module into this process, so the first choice of a process is final.
MpiChoice choose_mpi(const std::string& asked, const LauncherEnvironment&);

}  // namespace commtune
