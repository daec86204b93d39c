#pragma once
#include <vector>

#include "dnn_proxy/importers/kineto_events.hpp"

namespace commtune {

struct KinetoProgram {
  std::vector<WorkloadOp> operations;
  std::string compute_from;  ///< "gpu_busy", "cpu_busy" or "none"
  std::uint64_t assumed_async = 0, assumed_sync = 0, idle_waits = 0;
};

/// Orders one rank's records into a program. An operation's GPU-ready time is the end of the last
/// compute work that its thread launched before it; compute between two operations is the union of
/// device work between their ready times, the gap what neither compute nor communication covers.
/// Without device events the CPU operators and the issue times take that part. Throws Error(usage)
/// when two communication kernels overlap on one stream.
KinetoProgram build_program(const KinetoEvents&);

}  // namespace commtune
