// The MPI library's own collectives on a duplicate of MPI_COMM_WORLD.
#include "collectives/libraries/library.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include "collectives/libraries/mpi/operations.hpp"

namespace commtune {
namespace {

/// The collective by the name that the tracer and Open MPI use.
const char* tracer_name(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return "allreduce";
    case Collective::broadcast:
      return "bcast";
    case Collective::allgather:
      return "allgather";
    case Collective::reduce_scatter:
      return "reduce_scatter_block";
    case Collective::reduce:
      return "reduce";
    case Collective::alltoall:
      return "alltoall";
    case Collective::gather:
      return "gather";
    case Collective::scatter:
      return "scatter";
    case Collective::scan:
      return "scan";
    case Collective::exscan:
      return "exscan";
    case Collective::sendrecv:
      return "";
    case Collective::barrier:
      return "barrier";
  }
  return "";
}

class MpiLibrary final : public Library {
 public:
  MpiLibrary() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    // Present when the algorithm tracer of tuning/openmpi is preloaded.
    observed_ = reinterpret_cast<Observed>(dlsym(RTLD_DEFAULT, "commtune_observed_algorithm_of"));
  }
  ~MpiLibrary() override { MPI_Comm_free(&comm_); }
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;

  std::string name() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string_view version(text, static_cast<std::size_t>(length));
    return version.find("Open MPI") != std::string_view::npos ? "openmpi" : "mpich";
  }
  std::string unsupported(const Call& call) const override { return mpi_unsupported(call); }
  bool result_at_front(Collective collective) const override {
    return collective == Collective::reduce_scatter;
  }
  std::unique_ptr<Operation> prepare(const Call& call) override {
    return mpi_operation(comm_, call);
  }
  std::string observed_algorithm(Collective collective) const override {
    const char* text = observed_ != nullptr ? observed_(tracer_name(collective)) : nullptr;
    return text != nullptr ? text : "";
  }

 private:
  using Observed = const char* (*)(const char* collective);
  MPI_Comm comm_ = MPI_COMM_NULL;
  Observed observed_ = nullptr;
};

}  // namespace
}  // namespace commtune

extern "C" commtune::Library* commtune_open_library(const commtune::Job&, const char*) {
  return new commtune::MpiLibrary;
}
