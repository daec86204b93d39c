#pragma once
#include <functional>
#include <vector>

#include "harness/sampling.hpp"
#include "transports/job.hpp"

namespace commtune {

/// Iterations of the longest batch: bounds what a gather moves to 16 MiB, however many ranks.
std::size_t largest_batch(Rank ranks);

/// Runs batches of one timed call and keeps every rank's stamps of the current batch. All members
/// but the last four are collective.
class Sampler {
 public:
  using Call = std::function<void(Stamp&)>;

  /// `options` must outlive it.
  Sampler(Job& job, const SamplingOptions& options, Call call);
  /// The very first call. Warm-up counts it.
  void first_call();
  void warm_up();
  /// Iterations of the next batch, now measured; 0 once the series is complete.
  std::size_t next_batch(const std::vector<double>& samples_us);
  /// Of the current batch, on the rank's own clock.
  const Stamp& stamp(Rank rank, std::size_t iteration) const {
    return all_[static_cast<std::size_t>(rank) * mine_.size() + iteration];
  }
  /// Whether an iteration of the batch becomes a sample.
  bool keeps(std::size_t iteration) const noexcept {
    return (taken_ + iteration) % plan_.stride() == 0;
  }
  bool capped() const noexcept { return plan_.stride() != 1; }
  bool hit_time_limit() const noexcept { return plan_.hit_time_limit(); }

 private:
  void run_batch(std::size_t length, int untimed);

  Job& job_;
  const SamplingOptions& options_;
  Call call_;
  SamplingPlan plan_;
  std::int64_t started_ns_;
  double elapsed_s_ = 0, iteration_s_ = 0;  ///< rank 0's, the same on every rank
  std::size_t taken_ = 0, last_batch_ = 0;  ///< iterations measured before and in the batch
  std::vector<Stamp> mine_, all_;           ///< last element: elapsed and batch time of the rank
};

/// Sets the flags that follow from the samples and from how they were taken.
void add_flags(Series&, const Sampler&, const SamplingOptions&);

}  // namespace commtune
