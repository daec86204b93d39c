#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "dnn_proxy/replay.hpp"
#include "harness/measure.hpp"
#include "harness/record.hpp"

namespace commtune {

/// Everything that was measured, the same on every rank: [step][rank] and [call][occurrence].
struct ReplayMeasurement {
  std::vector<std::uint64_t> numbers;     ///< of the recorded step that was replayed
  std::vector<std::int64_t> recorded_ns;  ///< 0: unknown
  std::vector<std::vector<StepTimes>> times;
  std::vector<std::vector<double>> call_us;  ///< per call: slowest rank of every occurrence
  std::vector<CallCheck> checks;             ///< per call, all ranks together
  std::uint64_t check_iterations = 0;
  std::vector<double> piece_ns;  ///< per rank
};

/// Rank with the longest time of a step.
std::size_t slowest_rank(const std::vector<StepTimes>&);

/// Gathers what each rank measured: `times` of its steps and `samples` of its collectives in
/// program order. Collective.
ReplayMeasurement gather_replay(Job&, const ReplayPlan&, const ReplayEngine&,
                                const std::vector<StepTimes>& times,
                                const std::vector<CallSample>& samples);

/// The header of the report for people: origin, rules applied, steps.
void print_workload(std::ostream&, const Workload&, const ReplayOptions&);
/// Calibration, steps and collectives.
void print_measurement(std::ostream&, const ReplayPlan&, const std::vector<CallChoice>&,
                       const ReplayMeasurement&, const ReplayOptions&, const ReplayEngine&);

/// Rows of the result file: one per distinct collective ("replay"), one for the step
/// ("replay_step").
std::vector<Row> replay_rows(const Row& common, const ReplayPlan&, const std::vector<CallChoice>&,
                             const ReplayMeasurement&, const ReplayOptions&);

}  // namespace commtune
