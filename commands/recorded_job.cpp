#include "commands/recorded_job.hpp"

#include <cstdio>
#include <fmt/format.h>

#include "core/error.hpp"
#include "harness/record.hpp"

namespace commtune {

int run_recorded_job(const RunOptions& options, const std::function<int(Job&)>& body) {
  const bool speaks = launcher_environment().rank == 0;
  if (speaks) begin_result_file(options.output, options);
  LaunchOptions launch;
  launch.transport = options.transport;
  launch.ranks = options.ranks;
  launch.timeout_s = options.timeout_s;
  launch.launcher = options.launcher;
  launch.mpi = options.mpi;
  launch.platform = options.platform;
  launch.bind = options.bind;
  launch.argv = options.argv;
  launch.lost = [output = options.output](const std::string& reason) {
    close_result_file(output, reason);
  };
  const Outcome outcome = run_job(launch, body);
  if (!outcome.reason.empty() && speaks) {
    close_result_file(options.output, outcome.reason);
    if (outcome.status != exit_measured_failure) {
      fmt::print(stderr, "commtune: {}\n", outcome.reason);
    }
  }
  return outcome.status;
}

}  // namespace commtune
