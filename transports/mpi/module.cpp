#include "transports/module.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <memory>
#include <mpi.h>
#include <string>

#include "core/error.hpp"
#include "transports/host_address.hpp"
#include "transports/mpi/mpi_bootstrap.hpp"
#include "transports/mpi/mpi_transport.hpp"
#include "transports/processors.hpp"
#include "transports/secret.hpp"

namespace commtune::mpi {
namespace {

/// Starts the library and ends it; owns two private copies of the world communicator.
class Library {
 public:
  Library() {
    // Only this thread calls MPI. Asking for MPI_THREAD_FUNNELED would say so, but makes Open MPI
    // 4.1 20 % slower for small messages than the plain MPI_Init of the programs we compare with.
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
      fail(Errc::unavailable, "MPI_Init_thread failed");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &data_);
    MPI_Comm_dup(MPI_COMM_WORLD, &control_);
    MPI_Comm_set_errhandler(data_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(control_, MPI_ERRORS_RETURN);
  }
  ~Library() {
    MPI_Comm_free(&control_);
    MPI_Comm_free(&data_);
    MPI_Finalize();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  MPI_Comm data() const noexcept { return data_; }
  MPI_Comm control() const noexcept { return control_; }

 private:
  MPI_Comm data_ = MPI_COMM_NULL, control_ = MPI_COMM_NULL;
};

std::string run_time_version() {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  text.resize(static_cast<std::size_t>(std::max(length, 0)));
  return text;
}

/// The word after `marker`, up to white space or a comma.
std::string word_after(const std::string& text, std::string_view marker) {
  const std::size_t found = text.find(marker);
  if (found == std::string::npos) return {};
  const std::size_t begin = text.find_first_not_of(" \t", found + marker.size());
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_first_of(" \t\n,", begin) - begin);
}

LoadedLibrary describe() {
  LoadedLibrary library;
  const std::string text = run_time_version();
  if (text.find("Open MPI") != std::string::npos) {
    library.name = "openmpi";
    library.version = word_after(text, "Open MPI v");
  } else {
    library.name = text.find("MPICH") != std::string::npos ? "mpich" : "mpi";
    library.version = word_after(text, "MPICH Version:");
  }
  if (library.version.empty()) library.version = text.substr(0, text.find('\n'));
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Init), &info) != 0 && info.dli_fname != nullptr) {
    library.path = info.dli_fname;
  }
#if defined(OMPI_MAJOR_VERSION)
  library.built_version =
      fmt::format("{}.{}.{}", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION);
#elif defined(MPICH_VERSION)
  library.built_version = MPICH_VERSION;
#endif
  return library;
}

/// The launcher of an MPI job ends all ranks when one is lost, so a rank never has to be told.
class NeverTold final : public JobHealth {
 public:
  bool failed() const noexcept override { return false; }

 private:
  [[noreturn]] void throw_failure() const override { fail(Errc::peer, "the job has failed"); }
};

class Connection final : public TransportModule::Connection {
 public:
  Connection()
      : bootstrap_(mpi_.control()), transport_(mpi_.data(), ranks_are_crowded(bootstrap_)) {}
  Bootstrap& bootstrap() override { return bootstrap_; }
  const JobHealth& health() const noexcept override { return health_; }
  std::string address() override { return job_address(bootstrap_); }
  std::string secret() override {
    std::string text = random_secret();  // rank 0's counts
    MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, mpi_.control());
    return text;
  }
  Transport& transport() override { return transport_; }
  LoadedLibrary library() const override { return describe(); }
  [[noreturn]] void abort(int status) override {
    MPI_Abort(MPI_COMM_WORLD, status);
    std::abort();
  }

 private:
  Library mpi_;
  NeverTold health_;
  MpiBootstrap bootstrap_;
  MpiTransport transport_;
};

constexpr TransportModule module{
    TransportModule::current_abi,
    "mpi",
    describe,
    []() -> std::unique_ptr<TransportModule::Connection> { return std::make_unique<Connection>(); },
    nullptr,
    nullptr};

}  // namespace
}  // namespace commtune::mpi

extern "C" const commtune::TransportModule* commtune_transport_module() {
  return &commtune::mpi::module;
}
