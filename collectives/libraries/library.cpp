#include "collectives/libraries/library.hpp"

#include "core/error.hpp"
#include "transports/module.hpp"

namespace commtune {

std::unique_ptr<Library> open_library(const Job& job) {
  const std::string transport(job.transport.name());
  if (transport == "shm" || transport == "threads") {
    fail(Errc::unavailable,
         "--algorithm native: transport {} has no collective library; use --transport mpi",
         transport);
  }
  using Open = Library* (*)();
  // The loader returns data and code addresses alike as void*.
  const auto open =
      reinterpret_cast<Open>(load_module("library_" + transport, "commtune_open_library"));
  return std::unique_ptr<Library>(open());
}

}  // namespace commtune
