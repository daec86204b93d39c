#pragma once
#include <functional>
#include <string>
#include <vector>

#include "harness/options.hpp"
#include "harness/record.hpp"
#include "transports/job.hpp"

namespace commtune {

/// Offsets of every rank's clock against rank 0's, in ns, and the error bound of the estimate (0
/// when all ranks share one host's clock).
struct ClockMap {
  std::vector<std::int64_t> offset_ns;
  double error_us = 0;
};
/// Collective. Ranks of one host and boot share CLOCK_MONOTONIC; others are estimated by the
/// minimum round trip of ping-pongs with rank 0 (Cristian 1989).
ClockMap synchronise_clocks(Job&);

/// Empty-message dissemination barrier on the last lane; never inside a timed region.
class SyncBarrier {
 public:
  explicit SyncBarrier(Transport&);
  void wait();

 private:
  Transport& transport_;
};

/// The samples of one series: all iterations, or with "samples_capped" every k-th of more than
/// SamplingPlan::sample_limit. Every rank holds the same contents.
struct Series {
  std::vector<double> samples_us;
  double first_call_us = 0;
  double entry_skew_us = 0;  ///< median over iterations of last-in minus first-in
  std::vector<std::string>
      flags;  ///< see sample_flags(), "entry_skew", "time_limit", "samples_capped"
};

/// One call of a collective per iteration. A sample is last rank in to last rank out. Stops as
/// SamplingOptions says; every rank takes the same decision from the same gathered data.
/// `before(i)` runs untimed before call i (buffer rotation, refilling), warm-up included, with the
/// same i on every rank; may be empty. Warm-up counts the first call, which always happens.
Series measure_collective(Job&, const ClockMap&, const SamplingOptions&,
                          const std::function<void(std::uint64_t)>& before,
                          const std::function<void()>& operation);

/// A point-to-point pattern: rank 0's own time of `operation(repeats)`, divided by repeats. Repeats
/// are chosen so that the clock costs at most 1 %. All ranks run operation with the same repeats.
Series measure_pattern(Job&, const SamplingOptions&,
                       const std::function<void(std::uint64_t repeats)>& operation);

/// Median, order-statistic interval of the median at `confidence` (binomial), nearest-rank
/// percentiles. `samples` is not empty.
TimeSummary summarise(std::vector<double> samples_us, double confidence);

/// Probes the machine for about 3 ms: collective; rank 0 measures, the others sleep.
class MachineProbe {
 public:
  explicit MachineProbe(Job&);
  /// Fills element `which` (0 before, 1 after) of the row's machine state on rank 0; flags a row
  /// whose state changed by more than a factor 1.5.
  void sample(Row&, int which);

 private:
  Job& job_;
  std::uint64_t steal_ = 0, total_ = 0;
  std::vector<std::byte> copy_from_, copy_to_;  ///< rank 0 only
};

}  // namespace commtune
