#include "tuning/decision.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace commtune {
namespace {

using Cells = std::vector<std::optional<Cell>>;

Cell cell(double median, double half_width = 0.01) {
  return {median, median * (1 - half_width), median * (1 + half_width), std::nullopt, "traced", ""};
}

/// `medians[size]`, the same in every round.
CandidateCells steady(const std::string& name, const std::vector<double>& medians, int rounds = 3,
                      double half_width = 0.01) {
  CandidateCells candidate;
  candidate.algorithm = name;
  Cells cells;
  for (const double median : medians) cells.emplace_back(cell(median, half_width));
  candidate.cells.assign(static_cast<std::size_t>(rounds), cells);
  return candidate;
}

std::vector<std::string> ruled(const std::vector<SizeDecision>& decisions,
                               const std::vector<CandidateCells>& candidates) {
  std::vector<std::string> names;
  for (const SizeDecision& decision : decisions) {
    names.push_back(candidates[decision.ruled].algorithm);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Decide, finds_a_known_optimum) {
  const std::vector<CandidateCells> candidates{steady("default", {10, 10, 10, 10}),
                                               steady("a", {5, 5, 20, 20}),
                                               steady("b", {20, 20, 20, 5})};
  EXPECT_EQ(ruled(decide({8, 16, 32, 64}, candidates, {}), candidates),
            (Names{"a", "a", "default", "b"}));
}

TEST(Decide, keeps_the_default_for_a_gain_of_three_percent_or_less) {
  const std::vector<CandidateCells> candidates{steady("default", {100}, 3, 0.001),
                                               steady("a", {97.1}, 3, 0.001)};
  EXPECT_EQ(decide({8}, candidates, {})[0].ruled, 0U);
}

TEST(Decide, keeps_the_default_when_one_interval_overlaps) {
  std::vector<CandidateCells> candidates{steady("default", {100}), steady("a", {80})};
  EXPECT_EQ(decide({8}, candidates, {})[0].ruled, 1U);
  candidates[1].cells[1][0]->ci_high = 99.5;
  EXPECT_EQ(decide({8}, candidates, {})[0].ruled, 0U);
}

TEST(Decide, switches_on_noise_alone_in_at_most_one_percent) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(1, 0.05);
  std::size_t switched = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<CandidateCells> candidates;
    for (const char* name : {"default", "a", "b", "c"}) {
      CandidateCells candidate = steady(name, {100, 100, 100});
      for (auto& round : candidate.cells) {
        for (auto& each : round) each = cell(100 * noise(random), 0.04);
      }
      candidates.push_back(candidate);
    }
    for (const SizeDecision& decision : decide({8, 16, 32}, candidates, {})) {
      if (decision.ruled != 0) ++switched;
    }
  }
  EXPECT_LE(switched, 6U) << "of 600";
}

TEST(Decide, what_the_default_runs_anyway_cannot_win) {
  std::vector<CandidateCells> candidates{steady("default", {100, 100}), steady("a", {50, 50})};
  for (std::size_t round = 0; round < 3; ++round) {
    candidates[0].cells[round][0]->served_by = "a {}";
    candidates[1].cells[round][0]->served_by = "a {}";
    candidates[0].cells[round][1]->served_by = "b {}";
    candidates[1].cells[round][1]->served_by = "a {}";
  }
  EXPECT_EQ(ruled(decide({8, 16}, candidates, {}), candidates), (Names{"default", "a"}));
}

TEST(Decide, ignores_a_candidate_without_measurements) {
  CandidateCells excluded;
  excluded.algorithm = "crashed";
  const std::vector<CandidateCells> candidates{steady("default", {10, 10}), excluded,
                                               steady("a", {5, 20})};
  EXPECT_EQ(ruled(decide({8, 16}, candidates, {}), candidates), (Names{"a", "default"}));
}

TEST(Decide, a_candidate_missing_in_two_rounds_cannot_win) {
  std::vector<CandidateCells> candidates{steady("default", {100}), steady("a", {50})};
  candidates[1].cells[2][0].reset();
  EXPECT_EQ(decide({8}, candidates, {})[0].ruled, 1U);
  candidates[1].cells[1][0].reset();
  EXPECT_EQ(decide({8}, candidates, {})[0].ruled, 0U);
}

TEST(Decide, sets_rounds_aside_in_which_the_machine_changed_its_state) {
  std::vector<CandidateCells> candidates{steady("default", {300}), steady("a", {100})};
  for (int round = 0; round < 3; ++round) {
    candidates[0].cells[static_cast<std::size_t>(round)][0]->c2c_ns = 300;
    candidates[1].cells[static_cast<std::size_t>(round)][0]->c2c_ns = 73;
  }
  const auto decisions = decide({8}, candidates, {});
  EXPECT_EQ(decisions[0].ruled, 0U);
  EXPECT_EQ(decisions[0].incomparable, 3U);
  candidates[0].cells[1][0]->c2c_ns = 73;
  EXPECT_EQ(decide({8}, candidates, {})[0].ruled, 1U);
}

TEST(Decide, merges_neighbours_within_the_regret_bound) {
  const std::vector<CandidateCells> candidates{
      steady("default", {100, 100, 100}), steady("a", {50, 51, 50}), steady("b", {60, 50, 60})};
  EXPECT_EQ(ruled(decide({8, 16, 32}, candidates, {}), candidates), (Names{"a", "a", "a"}));
}

TEST(Decide, does_not_merge_at_the_regret_bound_and_beyond) {
  const std::vector<CandidateCells> candidates{
      steady("default", {100, 100, 100}), steady("a", {50, 52, 50}), steady("b", {60, 50, 60})};
  EXPECT_EQ(ruled(decide({8, 16, 32}, candidates, {}), candidates), (Names{"a", "b", "a"}));
}

TEST(Decide, merging_does_not_take_the_default_away_at_an_edge) {
  const std::vector<CandidateCells> candidates{steady("default", {100, 100}),
                                               steady("a", {99, 50})};
  EXPECT_EQ(ruled(decide({8, 16}, candidates, {}), candidates), (Names{"default", "a"}));
}

TEST(Decide, merging_may_bridge_a_single_size_that_is_even) {
  const std::vector<CandidateCells> candidates{steady("default", {100, 100, 100}),
                                               steady("a", {50, 99, 50})};
  EXPECT_EQ(ruled(decide({8, 16, 32}, candidates, {}), candidates), (Names{"a", "a", "a"}));
}

TEST(Decide, no_size_ever_loses_more_than_the_regret_bound_nor_to_the_default) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> time(90, 110);
  const DecisionRules rules;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<CandidateCells> candidates;
    for (const char* name : {"default", "a", "b", "c"}) {
      std::vector<double> medians;
      for (int i = 0; i < 12; ++i) medians.push_back(time(random));
      candidates.push_back(steady(name, medians, 3, 0.001));
    }
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t bytes = 8; sizes.size() < 12; bytes *= 2) sizes.push_back(bytes);
    for (const SizeDecision& decision : decide(sizes, candidates, rules)) {
      const double taken = *decision.median_us[decision.ruled];
      EXPECT_LT(taken, (1 + rules.max_regret) * *decision.median_us[decision.chosen]);
      EXPECT_LE(taken, *decision.median_us[0]);
    }
  }
}

std::vector<std::string> steps(const std::vector<std::uint64_t>& sizes,
                               const std::vector<double>& medians, double half_width = 0.01) {
  const std::vector<CandidateCells> candidates{steady("default", medians, 3, half_width)};
  return odd_steps(decide(sizes, candidates, {}), candidates, {});
}

TEST(OddSteps, tell_of_a_rise_beyond_three_times_per_doubling) {
  EXPECT_TRUE(steps({64, 128, 256}, {10, 30, 90}).empty());
  const auto found = steps({64, 128, 256}, {10, 31, 62});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rfind("the time rises from 10.00 us (default) at 64 bytes to 31.00 us", 0), 0U)
      << found[0];
  EXPECT_NE(found[0].find("more than 3 times"), std::string::npos) << found[0];
}

TEST(OddSteps, allow_more_where_sizes_are_further_apart_and_not_less_where_they_are_close) {
  EXPECT_TRUE(steps({64, 512}, {10, 120}).empty());
  EXPECT_EQ(steps({64, 512}, {10, 121}).size(), 1U);
  EXPECT_TRUE(steps({64, 65}, {10, 30}).empty());
  EXPECT_EQ(steps({64, 65}, {10, 31}).size(), 1U);
}

TEST(OddSteps, tell_of_a_fall_only_when_the_intervals_lie_apart) {
  EXPECT_TRUE(steps({64, 128}, {10, 9}, 0.1).empty());
  const auto found = steps({64, 128}, {10, 9}, 0.01);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rfind("the time falls from 10.00 us", 0), 0U) << found[0];
}

TEST(OddSteps, pass_over_a_size_without_a_measurement) {
  CandidateCells candidate = steady("default", {10, 20, 40});
  for (auto& round : candidate.cells) round[1].reset();
  const std::vector<CandidateCells> candidates{candidate};
  EXPECT_TRUE(odd_steps(decide({64, 128, 256}, candidates, {}), candidates, {}).empty());
}

TEST(MakeRules, leave_everything_outside_the_measured_range_to_the_library) {
  const std::vector<CandidateCells> candidates{steady("default", {10, 10}), steady("a", {5, 5})};
  const auto rules = make_rules(decide({64, 128}, candidates, {}), candidates);
  ASSERT_EQ(rules.size(), 3U);
  EXPECT_EQ(rules[0].from_bytes, 0U);
  EXPECT_EQ(rules[0].algorithm, "default");
  EXPECT_EQ(rules[1].from_bytes, 64U);
  EXPECT_EQ(rules[1].algorithm, "a");
  EXPECT_EQ(rules[1].median_us, 5);
  EXPECT_EQ(rules[1].default_us, 10);
  EXPECT_EQ(rules[1].gain, 0.5);
  EXPECT_EQ(rules[1].evidence, "traced");
  EXPECT_EQ(rules[2].from_bytes, 256U);
  EXPECT_EQ(rules[2].algorithm, "default");
}

}  // namespace
}  // namespace commtune
