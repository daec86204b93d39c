#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "transports/job.hpp"
#include "transports/membership.hpp"

namespace commtune {

/// What a runtime needs to connect ranks that know each other already.
struct RuntimeContext {
  Bootstrap& bootstrap;
  const JobHealth& health;  ///< ask while waiting
  bool crowded = false;     ///< Transport::crowded()
  std::string address;      ///< Membership::address()
  std::string secret;       ///< Membership::secret(), equal on all ranks
};

/// The ranks of a simulated job. All of them run in this process and in virtual time.
struct Simulation {
  Rank ranks = 0;
  std::string platform;     ///< LaunchOptions::platform
  const WorkRates& rates;   ///< what local work costs, unless the platform says that it is free
  const JobHealth& health;  ///< ask while waiting
  std::function<void(Rank)> beat;  ///< call now and then: virtual time goes on
  /// Called once per rank, in the rank's own context; does not throw.
  std::function<void(Bootstrap&, Transport&, const LoadedLibrary&, const std::string& host)>
      rank_main;
};

/// External runtimes live in shared objects that are loaded when asked for, so that one build
/// starts anywhere. A module exports `extern "C" const TransportModule*
/// commtune_transport_module()`. It has exactly one of join, open and simulate; the others are
/// null.
struct TransportModule {
  static constexpr unsigned current_abi = 4;
  unsigned abi;
  const char* name;
  /// A started runtime. The transport may not be used beyond it.
  struct Runtime {
    virtual ~Runtime() = default;
    virtual Transport& transport() = 0;
    virtual LoadedLibrary library() const = 0;
  };
  struct Connection : Membership, Runtime {};

  /// The library as loaded into this process, without starting it.
  LoadedLibrary (*identify)();
  /// Joins the job that the runtime's own launcher started. Exactly once per process.
  std::unique_ptr<Connection> (*join)();
  /// Collective over `bootstrap`. What the context refers to outlives the result.
  std::unique_ptr<Runtime> (*open)(const RuntimeContext&);
  /// Runs the whole job; returns when every rank's rank_main has. Throws Error(usage) on a platform
  /// that it cannot use.
  void (*simulate)(const Simulation&);
};

/// Loads `commtune_<name>.so` from COMMTUNE_MODULE_PATH or the modules folder beside the program
/// and returns the address of `symbol`. Throws Error(unavailable) with the loader's reason.
void* load_module(const std::string& name, const char* symbol);
/// Where load_module would look, first hit first; empty when the file does not exist.
std::filesystem::path find_module(const std::string& name);
/// The module `transport_<name>`. Throws as load_module, also when it was built for another ABI.
const TransportModule& transport_module(const std::string& name);

}  // namespace commtune
