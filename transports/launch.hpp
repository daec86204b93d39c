#pragma once
#include <functional>
#include <span>

#include "transports/job.hpp"
#include "transports/local/board.hpp"
#include "transports/local/fabric.hpp"

namespace commtune {

/// Seconds that ranks get to notice that another one failed, before they are killed.
inline constexpr double failure_grace_s = 1;

/// Why a rank failed, as an Outcome's reason. A message that all ranks share is given once, without
/// a rank.
std::string failure_reason(const local::Failure&, std::span<const MonitorSlot>);

/// Ranks of this host over our own shared memory.
Outcome run_local_job(const LaunchOptions&, local::Fabric::Kind,
                      const std::function<int(Job&)>& body);
/// Processes of this host over a module's runtime, options.transport.
Outcome run_module_job(const LaunchOptions&, const std::function<int(Job&)>& body);
/// Ranks that a module simulates, options.transport.
Outcome run_simulated_job(const LaunchOptions&, const std::function<int(Job&)>& body);
/// The part of run_job for a process that a launcher started.
Outcome join_job(const LaunchOptions&, const LauncherEnvironment&,
                 const std::function<int(Job&)>& body);
/// Starts options.argv under an MPI's launcher and supervises it.
Outcome start_mpi_job(const LaunchOptions&);

}  // namespace commtune
