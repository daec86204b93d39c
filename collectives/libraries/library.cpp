#include "collectives/libraries/library.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "transports/module.hpp"

namespace commtune {
namespace {

constexpr std::string_view native = "native";
constexpr std::array<std::string_view, 4> names{native, "gloo", "gloo/ring", "gloo/bcube"};

// The loader returns data and code addresses alike as void*.
template <class Function>
Function find_function(const std::string& library, const char* symbol) {
  return reinterpret_cast<Function>(load_module("library_" + library, symbol));
}

}  // namespace

bool names_library(std::string_view algorithm) noexcept {
  return std::find(names.begin(), names.end(), algorithm) != names.end();
}

std::string library_names() { return fmt::format("{}", fmt::join(names, ", ")); }

std::unique_ptr<Library> open_library(const Job& job, std::string_view name) {
  require(names_library(name), "--algorithm '{}': unknown library; valid: {}", name,
          library_names());
  const std::size_t slash = std::min(name.find('/'), name.size());
  std::string library(name.substr(0, slash));
  const std::string algorithm(name.substr(std::min(slash + 1, name.size())));
  if (name == native) {
    if (job.transport.name() != "mpi") {
      fail(Errc::unavailable,
           "--algorithm native: transport {} has no collective library; use --transport mpi",
           job.transport.name());
    }
    library = job.library.name;
  }
  using Open = Library* (*)(const Job&, const char*);
  try {
    const auto open = find_function<Open>(library, "commtune_open_library");
    return std::unique_ptr<Library>(open(job, algorithm.c_str()));
  } catch (const Error& error) {
    if (error.code() != Errc::unavailable) throw;
    fail(Errc::unavailable, "--algorithm {}: {}", name, error.what());
  }
}

LoadedLibrary identify_library(const std::string& name) {
  LoadedLibrary identity;
  if (find_module("library_" + name).empty()) return identity;
  using Identify = void (*)(LoadedLibrary*);
  find_function<Identify>(name, "commtune_identify_library")(&identity);
  return identity;
}

}  // namespace commtune
