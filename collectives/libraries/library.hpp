#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "collectives/runtime/operation.hpp"
#include "transports/job.hpp"

namespace commtune {

/// Collectives this project did not write (MPI_Allreduce and friends), measured beside ours.
class Library {
 public:
  virtual ~Library() = default;
  virtual std::string name() const = 0;  ///< "openmpi", "mpich", "gloo"
  /// The file as loaded; empty where it is the library of the job's transport (Job::library).
  virtual LoadedLibrary identity() const { return {}; }
  /// Empty when it can do `call`; otherwise the reason.
  virtual std::string unsupported(const Call&) const = 0;
  /// Where an in-place result lies: MPI_Reduce_scatter_block leaves it at the front of the input,
  /// not at block `rank`.
  virtual bool result_at_front(Collective) const = 0;
  virtual std::unique_ptr<Operation> prepare(const Call&) = 0;
  /// The algorithm that served this process's last call of `collective`, when something can tell
  /// (an interposed tracer, or the library was told which to take); empty otherwise.
  virtual std::string observed_algorithm(Collective collective) const = 0;
};

/// Whether `algorithm` names a library instead of one of our algorithms: `native`, the library of
/// the job's transport, or one that runs beside any transport, `gloo`, `gloo/ring`, `gloo/bcube`.
bool names_library(std::string_view algorithm) noexcept;
/// "native, gloo, gloo/ring, gloo/bcube"
std::string library_names();

/// Collective: opens what names_library() accepted. Throws Error(unavailable), saying why, when the
/// transport has no library or the module is not there. Modules are `commtune_library_<x>.so`, x
/// the library; they export `extern "C" commtune::Library*
/// commtune_open_library(const commtune::Job&, const char* algorithm)`, where `algorithm` is the
/// part behind the slash, maybe empty. MPI is already initialized then.
std::unique_ptr<Library> open_library(const Job&, std::string_view name = "native");

/// The library behind a module, without a job: empty when there is no such module. `name` is a
/// library that runs beside any transport ("gloo"). Throws as open_library() when it cannot be
/// loaded. Its module exports `extern "C" void
/// commtune_identify_library(commtune::LoadedLibrary*)`.
LoadedLibrary identify_library(const std::string& name);

}  // namespace commtune
