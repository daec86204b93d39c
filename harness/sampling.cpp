#include "harness/sampling.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"

namespace commtune {

Iteration combine(std::span<const Stamp> stamps) {
  require(!stamps.empty(), "iteration: no rank");
  Iteration result{stamps[0].in_ns, stamps[0].in_ns, stamps[0].out_ns, 0, 0};
  for (std::size_t i = 1; i < stamps.size(); ++i) {
    const auto rank = static_cast<Rank>(i);
    const Stamp& stamp = stamps[i];
    result.first_in_ns = std::min(result.first_in_ns, stamp.in_ns);
    if (stamp.in_ns > result.last_in_ns) {
      result.last_in_ns = stamp.in_ns;
      result.last_in_rank = rank;
    }
    if (stamp.out_ns > result.last_out_ns) {
      result.last_out_ns = stamp.out_ns;
      result.last_out_rank = rank;
    }
  }
  return result;
}

Latest most_often(std::span<const Iteration> iterations, Rank Iteration::*which) {
  require(!iterations.empty(), "straggler: no iterations");
  std::map<Rank, std::size_t> times;
  for (const Iteration& iteration : iterations) ++times[iteration.*which];
  const auto [rank, count] = *std::max_element(
      times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return {rank, static_cast<double>(count) / static_cast<double>(iterations.size())};
}

SamplingPlan::SamplingPlan(const SamplingOptions& options, std::size_t largest_batch)
    : options_(options), largest_batch_(std::max<std::size_t>(largest_batch, 1)) {
  if (options.iterations.value_or(0) > sample_limit) {
    stride_ = static_cast<std::size_t>((*options.iterations - 1) / sample_limit + 1);
  }
}

bool SamplingPlan::precise(const std::vector<double>& samples_us, double iteration_s) const {
  const std::size_t n = samples_us.size();
  if (n < enough_samples) return false;
  if (n < p99_samples && static_cast<double>(p99_samples - n) * iteration_s < 0.05) return false;
  const TimeSummary summary = summarise(samples_us, options_.confidence);
  return (summary.ci_high - summary.ci_low) / 2 <= options_.precision * summary.median;
}

std::size_t SamplingPlan::next(std::size_t iterations, const std::vector<double>& samples_us,
                               double elapsed_s, double iteration_s) {
  const bool fixed = options_.iterations.has_value();
  const std::size_t wanted = fixed ? static_cast<std::size_t>(*options_.iterations) : sample_limit;
  if (iterations >= wanted) return 0;
  double allowance_s = 0.2;
  if (!fixed) {
    if (precise(samples_us, iteration_s)) return 0;
    const double left_s = options_.time_limit_s - elapsed_s;
    if (left_s <= 0 && !samples_us.empty()) {
      hit_time_limit_ = true;
      return 0;
    }
    allowance_s = std::clamp(left_s, 0.0, allowance_s);
  }
  std::size_t batch = std::min({growth_, largest_batch_, wanted - iterations});
  growth_ = std::min(growth_ * 2, largest_batch_);
  if (iteration_s > 0 && static_cast<double>(batch) * iteration_s > allowance_s) {
    batch = static_cast<std::size_t>(allowance_s / iteration_s);
  }
  return std::max<std::size_t>(batch, 1);
}

}  // namespace commtune
