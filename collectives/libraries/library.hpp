#pragma once
#include <memory>
#include <string>

#include "collectives/runtime/operation.hpp"
#include "transports/job.hpp"

namespace commtune {

/// Collectives this project did not write (MPI_Allreduce and friends), measured beside ours.
class Library {
 public:
  virtual ~Library() = default;
  virtual std::string name() const = 0;  ///< "openmpi", "mpich"
  /// Empty when it can do `call`; otherwise the reason.
  virtual std::string unsupported(const Call&) const = 0;
  /// Where an in-place result lies: MPI_Reduce_scatter_block leaves it at the front of the input,
  /// not at block `rank`.
  virtual bool result_at_front(Collective) const = 0;
  virtual std::unique_ptr<Operation> prepare(const Call&) = 0;
  /// The algorithm that served this process's last call of `collective`, when something can tell
  /// (an interposed tracer); empty otherwise.
  virtual std::string observed_algorithm(Collective collective) const = 0;
};

/// The library that belongs to a job's transport ("mpi"). Throws Error(unavailable), saying why,
/// for transports that have none. Loaded from `commtune_library_<transport>.so`, which exports
/// `extern "C" commtune::Library* commtune_open_library()`; MPI is already initialized then.
std::unique_ptr<Library> open_library(const Job&);

}  // namespace commtune
