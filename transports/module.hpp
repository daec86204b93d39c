#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "transports/job.hpp"

namespace commtune {

/// External runtimes live in shared objects that are loaded when asked for, so that one build
/// starts anywhere. A module exports `extern "C" const TransportModule*
/// commtune_transport_module()`.
struct TransportModule {
  static constexpr unsigned current_abi = 2;
  unsigned abi;
  const char* name;
  /// Joins the job that a launcher started. Exactly once per process. The result outlives every use
  /// of the transport; its destructor finalizes the runtime.
  struct Connection {
    virtual ~Connection() = default;
    virtual Bootstrap& bootstrap() = 0;
    virtual Transport& transport() = 0;
    virtual LoadedLibrary library() const = 0;
    /// Takes the whole job down.
    [[noreturn]] virtual void abort(int status) = 0;
  };
  std::unique_ptr<Connection> (*join)();
};

/// Loads `commtune_<name>.so` from COMMTUNE_MODULE_PATH or the modules folder beside the program
/// and returns the address of `symbol`. Throws Error(unavailable) with the loader's reason.
void* load_module(const std::string& name, const char* symbol);
/// Where load_module would look, first hit first; empty when the file does not exist.
std::filesystem::path find_module(const std::string& name);

}  // namespace commtune
