#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/measure.hpp"

namespace commtune {

/// `stamps[r]` is rank r's; all are on one clock.
Iteration combine(std::span<const Stamp> stamps);

/// The rank that `which` names most often, the lowest of several, and the share of the iterations
/// (not empty) in which it does.
struct Latest {
  Rank rank = 0;
  double share = 0;
};
Latest most_often(std::span<const Iteration> iterations, Rank Iteration::*which);

/// Chooses batch lengths and when to stop. Depends only on what it is told, so ranks that are told
/// the same things decide the same.
class SamplingPlan {
 public:
  static constexpr std::size_t sample_limit = 100'000;  ///< most samples a series keeps
  static constexpr std::size_t enough_samples = 20;     ///< fewer never stop for precision
  static constexpr std::size_t p99_samples = 100;  ///< fewer stop only if more would cost 50 ms

  SamplingPlan(const SamplingOptions&, std::size_t largest_batch);
  /// Iterations of the next batch, 0 to stop. `iterations` have been measured, `samples_us` are
  /// those that were kept. `elapsed_s` counts from the start of the series and
  /// `iteration_s` is the cost of one iteration with its untimed parts.
  std::size_t next(std::size_t iterations, const std::vector<double>& samples_us, double elapsed_s,
                   double iteration_s);
  std::size_t next(const std::vector<double>& samples_us, double elapsed_s, double iteration_s) {
    return next(samples_us.size(), samples_us, elapsed_s, iteration_s);
  }
  /// One in this many iterations becomes a sample, so that fixed runs stay within sample_limit.
  std::size_t stride() const noexcept { return stride_; }
  bool hit_time_limit() const noexcept { return hit_time_limit_; }

 private:
  bool precise(const std::vector<double>& samples_us, double iteration_s) const;

  SamplingOptions options_;
  std::size_t largest_batch_, growth_ = 10, stride_ = 1;
  bool hit_time_limit_ = false;
};

/// Flags that follow from the samples alone: "few_samples" (under 20), "p99_is_max" (under 100: the
/// nearest rank of p99 is the largest sample) and "not_stationary" (the medians of the two halves
/// differ by more than 10 % and their intervals are disjoint).
std::vector<std::string> sample_flags(const std::vector<double>& samples_us, double confidence);

/// Median of an unordered, not empty range; the mean of the two middle values when even.
double median_of(std::vector<double> values);

}  // namespace commtune
