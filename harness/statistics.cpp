#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "harness/sampling.hpp"

namespace commtune {
namespace {

/// Index of the lower end of the median's interval in a sorted sample of n. The interval
/// [x[k], x[n-1-k]] misses the median with probability 2*P(B <= k), B binomial(n, 1/2). Index 0 is
/// the widest interval there is and may fall short of `confidence` when n is small.
std::size_t interval_index(std::size_t n, double confidence) {
  const boost::math::binomial_distribution<double> hits(static_cast<double>(n), 0.5);
  const double tail = (1 - confidence) / 2;
  double k = std::floor(boost::math::quantile(hits, tail));
  while (k > 0 && boost::math::cdf(hits, k) > tail) --k;
  return k > 0 ? static_cast<std::size_t>(k) : 0;
}

double nearest_rank(const std::vector<double>& sorted, std::size_t percent) {
  return sorted[(percent * sorted.size() + 99) / 100 - 1];
}

double median_of_sorted(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return n % 2 != 0 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

}  // namespace

double median_of(std::vector<double> values) {
  require(!values.empty(), "median: no values");
  std::sort(values.begin(), values.end());
  return median_of_sorted(values);
}

TimeSummary summarise(std::vector<double> samples_us, double confidence) {
  require(!samples_us.empty(), "summary: no samples");
  require(confidence > 0 && confidence < 1, "--confidence: {} is not between 0 and 1", confidence);
  std::sort(samples_us.begin(), samples_us.end());
  const std::size_t n = samples_us.size();
  const std::size_t low = interval_index(n, confidence);
  TimeSummary summary;
  summary.median = median_of_sorted(samples_us);
  summary.ci_low = samples_us[low];
  summary.ci_high = samples_us[n - 1 - low];
  summary.mean =
      std::accumulate(samples_us.begin(), samples_us.end(), 0.0) / static_cast<double>(n);
  summary.min = samples_us.front();
  summary.p50 = nearest_rank(samples_us, 50);
  summary.p90 = nearest_rank(samples_us, 90);
  summary.p95 = nearest_rank(samples_us, 95);
  summary.p99 = nearest_rank(samples_us, 99);
  summary.max = samples_us.back();
  summary.samples = n;
  return summary;
}

std::vector<std::string> sample_flags(const std::vector<double>& samples_us, double confidence) {
  std::vector<std::string> flags;
  const std::size_t n = samples_us.size();
  if (n < SamplingPlan::enough_samples) {
    flags.emplace_back("few_samples");
  } else {
    const auto middle = samples_us.begin() + static_cast<std::ptrdiff_t>(n / 2);
    const TimeSummary first = summarise({samples_us.begin(), middle}, confidence);
    const TimeSummary second = summarise({middle, samples_us.end()}, confidence);
    const bool apart = first.ci_high < second.ci_low || second.ci_high < first.ci_low;
    const double change = std::abs(first.median - second.median);
    if (apart && change > 0.1 * std::min(first.median, second.median)) {
      flags.emplace_back("not_stationary");
    }
  }
  if (n < SamplingPlan::p99_samples) flags.emplace_back("p99_is_max");
  return flags;
}

}  // namespace commtune
