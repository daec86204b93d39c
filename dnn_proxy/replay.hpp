#pragma once
#include <filesystem>
#include <optional>
#include <ostream>

#include "dnn_proxy/replay_engine.hpp"
#include "dnn_proxy/workload.hpp"
#include "harness/options.hpp"
#include "transports/job.hpp"

namespace commtune {

struct ReplayOptions {
  RunOptions run;
  std::optional<std::uint64_t> steps;  ///< unset: those of the workload once; more cycle
  double compute_scale = 1;            ///< 0: communication only
  bool gaps = false;
  std::filesystem::path timeline;  ///< empty: none
  SelectAlgorithm select;          ///< what auto means; empty: the built-in table
};

/// The WORKLOAD argument: a workload file, a trace or a directory of traces. Throws Error(usage)
/// naming what is missing or not recognised; `model:NAME` is one of those.
Workload load_workload(const std::string& argument);

/// The sequence of collectives of every step, equal steps together: what a user checks first.
std::string describe_steps(const Workload&);

/// One rank's part of a replay. Collective. Rank 0 reports on `out` and writes the result file.
/// Returns the exit status: 1 when the check found wrong data.
int replay(Job&, const Workload&, const ReplayOptions&, std::ostream& out);

}  // namespace commtune
