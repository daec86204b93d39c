#pragma once
#include <functional>
#include <string>
#include <vector>

#include "transports/bootstrap.hpp"
#include "transports/monitor.hpp"
#include "transports/transport.hpp"

namespace commtune {

/// Identity of a runtime as it was really loaded, not as it was compiled against.
struct LoadedLibrary {
  std::string name;           ///< "openmpi", "mpich"; empty for our own transports
  std::string version;        ///< from the library's own call
  std::string path;           ///< file mapped into this process
  std::string built_version;  ///< from the headers
};

/// One rank's view of a running job. Owned by the launcher; passed down, never stored globally.
struct Job {
  Bootstrap& bootstrap;
  Transport& transport;
  MonitorSlot& monitor;
  LoadedLibrary library;
  std::string host = {};  ///< of this rank in a simulated cluster; empty: the one it runs on
  Rank rank() const noexcept { return transport.rank(); }
  Rank size() const noexcept { return transport.size(); }
};

struct LaunchOptions {
  std::string transport = "shm";  ///< a name from transports()
  int ranks = 2;
  double timeout_s = 60;          ///< no beat from any rank for this long ends the job
  std::string launcher;           ///< command for `mpi`; empty: the found MPI's mpirun
  std::string mpi;                ///< "openmpi", "mpich", a path; empty: what mpi_choice() says
  std::string bind;               ///< as parse_binding() reads it
  std::string platform;           ///< for `sim`: a SimGrid file or the words of a generated one
  std::vector<std::string> argv;  ///< this program's command line, to start again under a launcher
  /// Called on rank 0 of a job that somebody else's launcher started when it has failed and the
  /// process may end at any moment, from any thread: the last chance to close files. May be empty.
  std::function<void(const std::string& reason)> lost;
};

/// How a job ended. `status` is an exit status; `reason` is empty when status is 0 and otherwise
/// names the rank and the operation. In a launcher's job it is also empty on ranks whose reason is
/// reported elsewhere, so whoever gets a reason may print it.
struct Outcome {
  int status = 0;
  std::string reason;
  int rank = 0;  ///< this process in a launcher's job; 0 in the process that supervises
};

/// Runs `body` once per rank and waits for all of them. The body's return value is the rank's exit
/// status; an Error it throws becomes that rank's message and exit_status(code). The first rank
/// that fails ends the job. Returns only in the process that supervises: the caller for local
/// transports and for a self-started MPI job; every rank when this process already runs under a
/// launcher (then `rank` in the result tells which).
///   shm        forked processes over one shared segment
///   threads    threads of one forked process
///   mpi        joins the launcher's job, or starts argv again under one
///   ucx, grpc  forked processes, or joins the launcher's job
///   sim        one forked process, virtual time
Outcome run_job(const LaunchOptions&, const std::function<int(Job&)>& body);

/// The launcher that started this process, from its environment: ranks it announced and its kind.
struct LauncherEnvironment {
  std::string kind;  ///< "openmpi", "mpich", "torchrun", "slurm"; empty: none
  int rank = 0, size = 1;
  bool rendezvous = false;  ///< the ranks meet over TCP at MASTER_ADDR, without an MPI
};
LauncherEnvironment launcher_environment();

struct TransportInfo {
  std::string name, summary;
  bool available = false;
  std::string reason;  ///< why not available, or the module files
};
/// Every transport this program knows, with whether its module is here; whether that loads, only
/// identify_runtime() tells.
std::vector<TransportInfo> transports();

}  // namespace commtune
