#include "transports/module.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <memory>
#include <mpi.h>
#include <string>

#include "core/error.hpp"
#include "transports/mpi/mpi_bootstrap.hpp"
#include "transports/mpi/mpi_transport.hpp"
#include "transports/processors.hpp"

namespace commtune::mpi {
namespace {

/// Starts the library and ends it; owns two private copies of the world communicator.
class Runtime {
 public:
  Runtime() {
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
  ~Runtime() {
    MPI_Comm_free(&control_);
    MPI_Comm_free(&data_);
    MPI_Finalize();
  }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  MPI_Comm data() const noexcept { return data_; }
  MPI_Comm control() const noexcept { return control_; }

 private:
  MPI_Comm data_ = MPI_COMM_NULL, control_ = MPI_COMM_NULL;
};

/// Collective. A launcher that binds every rank to its own processor leaves each rank a mask of
/// one; then the ranks are crowded only if a processor repeats, so the masks are joined.
bool crowded(MPI_Comm communicator) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int ranks = 1;
  MPI_Comm_size(host, &ranks);
  constexpr std::size_t most_processors = 4096;
  std::vector<unsigned char> usable(most_processors, 0);
  for (const int processor : usable_processors()) {
    if (static_cast<std::size_t>(processor) < usable.size())
      usable[static_cast<std::size_t>(processor)] = 1;
  }
  MPI_Allreduce(MPI_IN_PLACE, usable.data(), static_cast<int>(usable.size()), MPI_UNSIGNED_CHAR,
                MPI_MAX, host);
  MPI_Comm_free(&host);
  return ranks > std::count(usable.begin(), usable.end(), static_cast<unsigned char>(1));
}

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

class Connection final : public TransportModule::Connection {
 public:
  Connection()
      : transport_(runtime_.data(), crowded(runtime_.control())), bootstrap_(runtime_.control()) {}
  Bootstrap& bootstrap() override { return bootstrap_; }
  Transport& transport() override { return transport_; }
  LoadedLibrary library() const override { return describe(); }
  [[noreturn]] void abort(int status) override {
    MPI_Abort(MPI_COMM_WORLD, status);
    std::abort();
  }

 private:
  Runtime runtime_;
  MpiTransport transport_;
  MpiBootstrap bootstrap_;
};

constexpr TransportModule module{TransportModule::current_abi, "mpi",
                                 []() -> std::unique_ptr<TransportModule::Connection> {
                                   return std::make_unique<Connection>();
                                 }};

}  // namespace
}  // namespace commtune::mpi

extern "C" const commtune::TransportModule* commtune_transport_module() {
  return &commtune::mpi::module;
}
