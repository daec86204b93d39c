#pragma once
#include <functional>
#include <string>
#include <vector>

#include "harness/clock_map.hpp"
#include "harness/options.hpp"
#include "harness/record.hpp"
#include "transports/job.hpp"

namespace commtune {

/// Collective. Ranks of one host, boot and time namespace share CLOCK_MONOTONIC; other clocks are
/// read by the shortest of many round trips with rank 0 (Cristian 1989), half of which bounds the
/// error.
ClockMap synchronise_clocks(Job&);

/// Empty-message dissemination barrier on the last lane; never inside a timed region.
class SyncBarrier {
 public:
  explicit SyncBarrier(Transport&);
  void wait();

 private:
  Transport& transport_;
};

/// Entry and exit of one call on one rank.
struct Stamp {
  std::int64_t in_ns = 0, out_ns = 0;
};

/// One call of a collective seen across all ranks, on rank 0's clock.
struct Iteration {
  std::int64_t first_in_ns = 0, last_in_ns = 0, last_out_ns = 0;
  Rank last_in_rank = 0, last_out_rank = 0;  ///< the lowest, where several are equal

  /// Last in to last out, never negative.
  double time_us() const noexcept {
    return last_out_ns > last_in_ns ? static_cast<double>(last_out_ns - last_in_ns) * 1e-3 : 0;
  }
  double skew_us() const noexcept { return static_cast<double>(last_in_ns - first_in_ns) * 1e-3; }
};

/// The samples of one series: all iterations, or with "samples_capped" every k-th of more than
/// SamplingPlan::sample_limit. Every rank holds the same contents, except `stamps`.
struct Series {
  static constexpr std::size_t stamp_limit = 1000;

  std::vector<double> samples_us;
  std::vector<Iteration> iterations;  ///< of a collective: one per sample
  std::vector<Stamp> stamps;  ///< this rank's of the first `stamp_limit` samples, on rank 0's clock
  double first_call_us = 0;
  double entry_skew_us = 0;   ///< median over iterations of last-in minus first-in
  double clock_error_us = 0;  ///< ClockMap::error_us() of this series
  /// See sample_flags(), "entry_skew", "clock_error" (more than a tenth of the median time),
  /// "time_limit", "samples_capped".
  std::vector<std::string> flags;
};

/// One call of a collective per iteration. A sample is last rank in to last rank out. Stops as
/// SamplingOptions says; every rank takes the same decision from the same gathered data. Where
/// ranks have clocks of their own, these are read before the first and after the last call, and
/// the samples follow from the line between both; until then offsets are those of the first.
/// `before(i)` runs untimed before call i (buffer rotation, refilling), warm-up included, with the
/// same i on every rank; may be empty. Warm-up counts the first call, which always happens.
Series measure_collective(Job&, ClockMap&, const SamplingOptions&,
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
