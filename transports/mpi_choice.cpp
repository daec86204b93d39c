#include "transports/mpi_choice.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string_view>
#include <unistd.h>

#include "core/error.hpp"
#include "core/process.hpp"
#include "transports/module.hpp"

namespace commtune {
namespace {

struct Flavour {
  const char* name;
  const char* launcher;       ///< found when the program was configured; may be empty
  const char* only_symbol;    ///< exported by this family's library alone
  const char* library_names;  ///< separated by spaces, most specific first
};
constexpr std::array flavours{
    Flavour{"openmpi", COMMTUNE_OPENMPI_LAUNCHER, "ompi_mpi_comm_world", "libmpi.so.40 libmpi.so"},
    Flavour{"mpich", COMMTUNE_MPICH_LAUNCHER, "MPIR_Err_create_code",
            "libmpich.so.12 libmpi.so.12 libmpich.so libmpi.so"}};

bool built(const Flavour& flavour) {
  return !find_module(fmt::format("transport_{}", flavour.name)).empty();
}

std::string launcher_of(const Flavour& flavour) {
  if (*flavour.launcher != '\0' && access(flavour.launcher, X_OK) == 0) return flavour.launcher;
  const std::string suffixed = find_program(fmt::format("mpirun.{}", flavour.name));
  return suffixed.empty() ? find_program("mpirun") : suffixed;
}

/// The family that the launcher of this process belongs to; empty when it does not say.
std::string_view flavour_of(const LauncherEnvironment& launcher) {
  if (launcher.kind == "openmpi" || launcher.kind == "mpich") return launcher.kind;
  if (launcher.kind == "slurm" && std::getenv("PMIX_NAMESPACE") != nullptr) return "openmpi";
  return {};
}

/// The family of a library file, by what it exports.
const Flavour& flavour_of(const std::filesystem::path& library, const std::string& asked) {
  void* const handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  require(handle != nullptr, "--mpi {}: {}", asked, handle == nullptr ? dlerror() : "");
  for (const Flavour& flavour : flavours) {
    if (dlsym(handle, flavour.only_symbol) != nullptr) return flavour;
  }
  fail(Errc::usage, "--mpi {}: {} is neither Open MPI nor MPICH", asked, library.string());
}

std::filesystem::path library_in(const std::filesystem::path& installation) {
  std::error_code ignored;
  for (const char* folder : {"lib", "lib64", "."}) {
    for (const Flavour& flavour : flavours) {
      std::string_view names = flavour.library_names;
      while (!names.empty()) {
        const std::size_t end = std::min(names.find(' '), names.size());
        const auto file = installation / folder / names.substr(0, end);
        if (std::filesystem::exists(file, ignored)) return file;
        names.remove_prefix(std::min(end + 1, names.size()));
      }
    }
  }
  return {};
}

MpiChoice choose_path(const std::string& asked) {
  std::error_code problem;
  const auto path = std::filesystem::canonical(asked, problem);
  if (problem) fail(Errc::unavailable, "--mpi {}: {}", asked, problem.message());
  const bool folder = std::filesystem::is_directory(path, problem);
  const auto library = folder ? library_in(path) : path;
  require(!library.empty(), "--mpi {}: no libmpi in it or in its lib and lib64 folders", asked);
  const Flavour& flavour = flavour_of(library, asked);
  std::string launcher;
  for (const auto& prefix : {path, path.parent_path().parent_path()}) {
    const auto candidate = prefix / "bin" / "mpirun";
    if (launcher.empty() && access(candidate.c_str(), X_OK) == 0) launcher = candidate;
  }
  return {flavour.name, launcher.empty() ? launcher_of(flavour) : launcher, library};
}

void load_library_of(const MpiChoice& choice) {
  if (choice.library.empty()) return;
  // A module that asks for the same name gets the library that is loaded already.
  if (dlopen(choice.library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    fail(Errc::unavailable, "--mpi {}: {}", choice.library, dlerror());
  }
}

}  // namespace

MpiChoice choose_mpi(const std::string& asked, const LauncherEnvironment& launcher) {
  MpiChoice choice;
  if (asked.find('/') != std::string::npos) {
    choice = choose_path(asked);
  } else {
    const std::string_view hinted = asked.empty() ? flavour_of(launcher) : asked;
    for (const Flavour& flavour : flavours) {
      const bool wanted = hinted.empty() ? built(flavour) : hinted == flavour.name;
      if (wanted && choice.flavour.empty()) choice = {flavour.name, launcher_of(flavour), {}};
    }
  }
  if (choice.flavour.empty()) choice.flavour = flavours.front().name;
  load_library_of(choice);
  transport_module(choice.flavour);
  return choice;
}

}  // namespace commtune
