#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

#include "core/error.hpp"
#include "harness/sampling.hpp"

namespace commtune {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

bool has(const std::vector<std::string>& flags, const std::string& flag) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

TEST(Summary, one_outlier_moves_the_mean_and_the_maximum_only) {
  std::vector<double> samples(99, 10.0);
  samples.insert(samples.begin() + 50, 1000.0);
  const TimeSummary summary = summarise(samples, 0.95);
  EXPECT_EQ(summary.mean, 19.9);
  EXPECT_EQ(summary.median, 10);
  EXPECT_EQ(summary.p50, 10);
  EXPECT_EQ(summary.p99, 10);
  EXPECT_EQ(summary.max, 1000);
  EXPECT_EQ(summary.ci_low, 10);
  EXPECT_EQ(summary.ci_high, 10);
  EXPECT_EQ(summary.samples, 100U);
}

TEST(Summary, percentiles_are_nearest_ranks) {
  const TimeSummary summary = summarise(one_to(7), 0.95);
  EXPECT_EQ(summary.median, 4);
  EXPECT_EQ(summary.p50, 4);
  EXPECT_EQ(summary.p90, 7);
  EXPECT_EQ(summarise(one_to(200), 0.95).p99, 198);
  EXPECT_EQ(summarise(one_to(200), 0.95).p95, 190);
  EXPECT_EQ(summarise(one_to(200), 0.95).p90, 180);
  EXPECT_EQ(summarise(one_to(200), 0.95).p50, 100);
  EXPECT_EQ(summarise(one_to(200), 0.95).median, 100.5);
}

// Ranks of the binomial interval as printed in tables of nonparametric statistics.
TEST(Summary, interval_of_the_median_is_the_tabulated_one) {
  struct Case {
    int n;
    double low, high;
  };
  for (const Case& c : {Case{6, 1, 6}, Case{9, 2, 8}, Case{10, 2, 9}, Case{20, 6, 15},
                        Case{50, 18, 33}, Case{100, 40, 61}}) {
    const TimeSummary summary = summarise(one_to(c.n), 0.95);
    EXPECT_EQ(summary.ci_low, c.low) << c.n;
    EXPECT_EQ(summary.ci_high, c.high) << c.n;
  }
}

TEST(Summary, few_samples_give_the_widest_interval) {
  for (int n = 1; n <= 5; ++n) {
    const TimeSummary summary = summarise(one_to(n), 0.95);
    EXPECT_EQ(summary.ci_low, 1);
    EXPECT_EQ(summary.ci_high, n);
  }
}

/// Pascal's triangle: the probability that Binomial(n, 1/2) is at most k.
double binomial_cdf(int n, int k) {
  double term = std::pow(0.5, n), sum = 0;
  for (int i = 0; i <= k; ++i) {
    sum += term;
    term = term * (n - i) / (i + 1);
  }
  return sum;
}

TEST(Summary, interval_keeps_its_confidence_and_is_the_shortest_that_does) {
  for (const double confidence : {0.5, 0.9, 0.95, 0.99}) {
    for (int n = 1; n <= 300; ++n) {
      const auto rank = static_cast<int>(summarise(one_to(n), confidence).ci_low);
      const double tail = (1 - confidence) / 2;
      if (rank > 1) {
        EXPECT_LE(binomial_cdf(n, rank - 1), tail * (1 + 1e-12));
      }
      EXPECT_GT(binomial_cdf(n, rank), tail * (1 - 1e-12)) << n << " at " << confidence;
    }
  }
}

TEST(Summary, refuses_no_samples_and_an_impossible_confidence) {
  EXPECT_THROW(summarise({}, 0.95), Error);
  EXPECT_THROW(summarise({1.0}, 1.0), Error);
  EXPECT_THROW(summarise({1.0}, 0.0), Error);
}

TEST(Iteration, counts_from_the_last_entry_to_the_last_exit) {
  const std::int64_t ms = 1'000'000;
  const Iteration iteration = combine(
      std::vector<Stamp>{{100, 3'050'000}, {0, 3'060'000}, {50, 3'050'000}, {3 * ms, 3'050'000}});
  EXPECT_EQ(iteration.time_us(), 60.0);
  EXPECT_EQ(iteration.skew_us(), 3000.0);
  EXPECT_EQ(iteration.first_in_ns, 0);
  EXPECT_EQ(iteration.last_in_ns, 3 * ms);
  EXPECT_EQ(iteration.last_out_ns, 3'060'000);
  EXPECT_EQ(iteration.last_in_rank, 3);
  EXPECT_EQ(iteration.last_out_rank, 1);
}

TEST(Iteration, names_the_lowest_of_the_ranks_that_were_last) {
  const Iteration iteration = combine(std::vector<Stamp>{{-5, 7}, {-4, 9}, {-4, 9}});
  EXPECT_EQ(iteration.last_in_rank, 1);
  EXPECT_EQ(iteration.last_out_rank, 1);
  EXPECT_EQ(combine(std::vector<Stamp>{{1, 2}}).last_in_rank, 0);
}

TEST(Iteration, is_never_negative) {
  EXPECT_EQ(combine(std::vector<Stamp>{{0, 100}, {500, 400}}).time_us(), 0);
}

TEST(Straggler, is_the_rank_that_was_last_most_often) {
  std::vector<Iteration> iterations(5);
  const Rank last_in[] = {3, 1, 3, 2, 3}, last_out[] = {2, 4, 4, 2, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    iterations[i].last_in_rank = last_in[i];
    iterations[i].last_out_rank = last_out[i];
  }
  EXPECT_EQ(most_often(iterations, &Iteration::last_in_rank).rank, 3);
  EXPECT_EQ(most_often(iterations, &Iteration::last_in_rank).share, 0.6);
  EXPECT_EQ(most_often(iterations, &Iteration::last_out_rank).rank, 2);
  EXPECT_EQ(most_often(iterations, &Iteration::last_out_rank).share, 0.4);
  EXPECT_THROW(most_often({}, &Iteration::last_in_rank), Error);
}

TEST(Flags, follow_the_number_of_samples) {
  EXPECT_EQ(sample_flags(std::vector<double>(19, 1.0), 0.95),
            (std::vector<std::string>{"few_samples", "p99_is_max"}));
  EXPECT_EQ(sample_flags(std::vector<double>(20, 1.0), 0.95),
            (std::vector<std::string>{"p99_is_max"}));
  EXPECT_TRUE(sample_flags(std::vector<double>(100, 1.0), 0.95).empty());
}

TEST(Flags, a_step_in_the_middle_is_not_stationary) {
  std::vector<double> samples(50, 1.0);
  samples.insert(samples.end(), 50, 1.2);
  EXPECT_TRUE(has(sample_flags(samples, 0.95), "not_stationary"));
  std::vector<double> small_step(50, 1.0);
  small_step.insert(small_step.end(), 50, 1.05);
  EXPECT_FALSE(has(sample_flags(small_step, 0.95), "not_stationary"));
}

TEST(Flags, noise_around_one_level_is_stationary) {
  std::vector<double> samples;
  for (int i = 0; i < 200; ++i) samples.push_back(1.0 + (i * 7919 % 100) * 0.01);
  EXPECT_FALSE(has(sample_flags(samples, 0.95), "not_stationary"));
}

TEST(SamplingPlan, fixed_iterations_add_up_exactly) {
  for (const std::uint64_t wanted : {1U, 7U, 10U, 11U, 1000U, 5000U}) {
    SamplingOptions options;
    options.iterations = wanted;
    options.time_limit_s = 1e-9;
    SamplingPlan plan(options, 4096);
    std::vector<double> samples;
    while (const std::size_t batch = plan.next(samples, 100, 1e-6)) {
      samples.resize(samples.size() + batch, 1.0);
    }
    EXPECT_EQ(samples.size(), wanted);
    EXPECT_FALSE(plan.hit_time_limit());
  }
}

TEST(SamplingPlan, long_fixed_runs_keep_every_kth_sample) {
  const std::pair<std::uint64_t, std::size_t> table[] = {
      {1, 1}, {100'000, 1}, {100'001, 2}, {200'000, 2}, {1'000'000'001, 10'001}};
  for (const auto& [iterations, stride] : table) {
    SamplingOptions options;
    options.iterations = iterations;
    EXPECT_EQ(SamplingPlan(options, 4096).stride(), stride) << iterations;
  }
  SamplingOptions options;
  options.iterations = 150'000;
  SamplingPlan plan(options, 4096);
  std::size_t taken = 0;
  while (const std::size_t batch = plan.next(taken, {1.0}, 0, 1e-6)) taken += batch;
  EXPECT_EQ(taken, 150'000U);
}

TEST(SamplingPlan, equal_samples_stop_as_soon_as_there_are_enough) {
  SamplingPlan cheap({}, 4096);
  std::vector<double> samples;
  for (const std::size_t batch : {10U, 20U, 40U, 80U}) {
    EXPECT_EQ(cheap.next(samples, 0, 1e-6), batch);
    samples.resize(samples.size() + batch, 5.0);
  }
  EXPECT_EQ(cheap.next(samples, 0, 1e-6), 0U);
  EXPECT_FALSE(cheap.hit_time_limit());

  SamplingPlan costly({}, 4096);
  EXPECT_GT(costly.next(std::vector<double>(19, 5.0), 0, 1e-3), 0U);
  EXPECT_EQ(costly.next(std::vector<double>(20, 5.0), 0, 1e-3), 0U);
}

TEST(SamplingPlan, scattered_samples_run_into_the_time_limit) {
  SamplingPlan plan({}, 4096);
  std::vector<double> samples;
  for (int i = 0; i < 40; ++i) samples.push_back(i % 2 == 0 ? 1.0 : 9.0);
  EXPECT_GT(plan.next(samples, 1.9, 1e-6), 0U);
  EXPECT_FALSE(plan.hit_time_limit());
  EXPECT_EQ(plan.next(samples, 2.0, 1e-6), 0U);
  EXPECT_TRUE(plan.hit_time_limit());
}

TEST(SamplingPlan, slow_calls_get_short_batches_but_at_least_one_sample) {
  SamplingPlan plan({}, 4096);
  EXPECT_EQ(plan.next({}, 0, 0.05), 4U);
  EXPECT_EQ(plan.next({1.0}, 0.1, 30), 1U);
  EXPECT_EQ(plan.next({}, 1000, 30), 1U);
  EXPECT_EQ(plan.next({1.0}, 1000, 30), 0U);
}

TEST(SamplingPlan, adaptive_runs_are_bounded_in_samples) {
  SamplingOptions options;
  options.time_limit_s = 1e9;
  options.precision = 0;
  SamplingPlan plan(options, 4096);
  std::vector<double> samples;
  while (const std::size_t batch = plan.next(samples, 0, 1e-6)) {
    for (std::size_t i = 0; i < batch; ++i) samples.push_back(static_cast<double>(samples.size()));
  }
  EXPECT_EQ(samples.size(), SamplingPlan::sample_limit);
}

}  // namespace
}  // namespace commtune
