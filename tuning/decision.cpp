#include "tuning/decision.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "core/sizes.hpp"
#include "tuning/bench_run.hpp"

namespace commtune {
namespace {

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

const Cell* find_cell(const CandidateCells& candidate, std::size_t round, std::size_t size) {
  if (round >= candidate.cells.size() || size >= candidate.cells[round].size()) return nullptr;
  const auto& cell = candidate.cells[round][size];
  return cell ? &*cell : nullptr;
}

std::optional<double> median_over_rounds(const CandidateCells& candidate, std::size_t size) {
  std::vector<double> medians;
  for (std::size_t round = 0; round < candidate.cells.size(); ++round) {
    if (const Cell* cell = find_cell(candidate, round, size)) medians.push_back(cell->median_us);
  }
  if (medians.empty()) return std::nullopt;
  return median_of(std::move(medians));
}

struct Verdict {
  std::string why_not;  ///< empty: it wins
  std::size_t incomparable = 0;
};

Verdict compare(const CandidateCells& standard, const CandidateCells& candidate, std::size_t size,
                const DecisionRules& rules) {
  Verdict verdict;
  std::vector<double> gains;
  std::size_t missing = 0;
  bool apart = true;
  for (std::size_t round = 0; round < standard.cells.size(); ++round) {
    const Cell* ours = find_cell(candidate, round, size);
    const Cell* theirs = find_cell(standard, round, size);
    if (ours == nullptr || theirs == nullptr) {
      ++missing;
      continue;
    }
    if (!comparable(ours->c2c_ns, theirs->c2c_ns, rules.max_state_change)) {
      ++verdict.incomparable;
      continue;
    }
    if (!ours->served_by.empty() && ours->served_by == theirs->served_by) {
      verdict.why_not = "the default runs it anyway";
      return verdict;
    }
    gains.push_back(1 - ours->median_us / theirs->median_us);
    apart = apart && ours->ci_high < theirs->ci_low;
  }
  if (missing > 1) {
    verdict.why_not = fmt::format("{} rounds missing", missing);
  } else if (gains.empty()) {
    verdict.why_not = "the machine's state differed in every round";
  } else if (!apart) {
    verdict.why_not = "intervals overlap";
  } else if (median_of(std::move(gains)) <= rules.min_gain) {
    verdict.why_not = fmt::format("gain not above {:.0f} %", 100 * rules.min_gain);
  }
  return verdict;
}

SizeDecision decide_one(std::uint64_t bytes, std::size_t size,
                        const std::vector<CandidateCells>& candidates, const DecisionRules& rules) {
  SizeDecision decision;
  decision.bytes = bytes;
  for (const CandidateCells& candidate : candidates) {
    decision.median_us.push_back(median_over_rounds(candidate, size));
  }
  const auto faster = [&](std::size_t a, std::size_t b) {
    const double infinite = std::numeric_limits<double>::infinity();
    return decision.median_us[a].value_or(infinite) < decision.median_us[b].value_or(infinite);
  };
  if (!decision.median_us[0]) return decision;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    if (!decision.median_us[i]) continue;
    const Verdict verdict = compare(candidates[0], candidates[i], size, rules);
    if (faster(i, decision.best)) {
      decision.best = i;
      decision.why_not = verdict.why_not;
    }
    decision.incomparable = std::max(decision.incomparable, verdict.incomparable);
    const bool wins = verdict.why_not.empty();
    if (wins && (decision.chosen == 0 || faster(i, decision.chosen))) decision.chosen = i;
  }
  decision.ruled = decision.chosen;
  return decision;
}

/// Whether `candidate` may serve a size for which another was chosen: within the regret bound, and
/// never slower than the default.
bool acceptable(const SizeDecision& decision, std::size_t candidate, const DecisionRules& rules) {
  if (candidate == decision.chosen) return true;
  const auto& time = decision.median_us[candidate];
  const auto& chosen = decision.median_us[decision.chosen];
  const auto& standard = decision.median_us[0];
  if (!time || !chosen || !standard) return false;
  const bool bounded = *time < (1 + rules.max_regret) * *chosen;
  return bounded && (candidate == 0 || *time <= *standard);
}

/// Fewest changes of algorithm along the sizes. A size taken from the default counts as a change,
/// so the default is only given up where that saves two.
void merge(std::vector<SizeDecision>& decisions, std::size_t candidates,
           const DecisionRules& rules) {
  constexpr double impossible = 1e300, change = 1e6;
  std::vector<std::vector<double>> cost(decisions.size(), std::vector<double>(candidates));
  std::vector<std::vector<std::size_t>> from(decisions.size(),
                                             std::vector<std::size_t>(candidates));
  for (std::size_t s = 0; s < decisions.size(); ++s) {
    const SizeDecision& decision = decisions[s];
    for (std::size_t c = 0; c < candidates; ++c) {
      double own = impossible;
      if (acceptable(decision, c, rules)) {
        own = c == decision.chosen ? 0
                                   : *decision.median_us[c] / *decision.median_us[decision.chosen];
        if (c != 0 && decision.chosen == 0) own += change;
      }
      double best = s == 0 ? 0 : impossible;
      for (std::size_t p = 0; s > 0 && p < candidates; ++p) {
        const double total = cost[s - 1][p] + (p == c ? 0 : change);
        if (total < best) {
          best = total;
          from[s][c] = p;
        }
      }
      cost[s][c] = std::min(impossible, best + own);
    }
  }
  if (decisions.empty()) return;
  const auto& last = cost.back();
  auto at = static_cast<std::size_t>(std::min_element(last.begin(), last.end()) - last.begin());
  for (std::size_t s = decisions.size(); s-- > 0; at = from[s][at]) {
    decisions[s].ruled = at;
    if (at != decisions[s].best && decisions[s].why_not.empty()) {
      decisions[s].why_not = "merged with its neighbours";
    }
  }
}

TableRule measured_rule(const SizeDecision& decision, std::size_t size,
                        const CandidateCells& candidate) {
  TableRule rule;
  rule.from_bytes = decision.bytes;
  rule.algorithm = candidate.algorithm;
  rule.params = candidate.params;
  rule.median_us = decision.median_us[decision.ruled];
  rule.default_us = decision.median_us[0];
  for (std::size_t round = 0; round < candidate.cells.size(); ++round) {
    const Cell* cell = find_cell(candidate, round, size);
    if (cell == nullptr) continue;
    rule.ci_low = std::min(rule.ci_low.value_or(cell->ci_low), cell->ci_low);
    rule.ci_high = std::max(rule.ci_high.value_or(cell->ci_high), cell->ci_high);
    rule.evidence = cell->evidence;
  }
  if (rule.median_us && rule.default_us && *rule.default_us > 0) {
    rule.gain = 1 - *rule.median_us / *rule.default_us;
  }
  return rule;
}

TableRule unmeasured_rule(std::uint64_t from) {
  TableRule rule;
  rule.from_bytes = from;
  rule.evidence = "not measured";
  return rule;
}

std::string label(const CandidateCells& candidate) {
  const std::string params = describe_params(candidate.params);
  return params.empty() ? candidate.algorithm : candidate.algorithm + " " + params;
}

}  // namespace

std::vector<SizeDecision> decide(const std::vector<std::uint64_t>& sizes,
                                 const std::vector<CandidateCells>& candidates,
                                 const DecisionRules& rules) {
  std::vector<SizeDecision> decisions;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    decisions.push_back(decide_one(sizes[i], i, candidates, rules));
  }
  merge(decisions, candidates.size(), rules);
  return decisions;
}

std::vector<std::string> odd_steps(const std::vector<SizeDecision>& decisions,
                                   const std::vector<CandidateCells>& candidates,
                                   const DecisionRules& rules) {
  std::vector<std::string> found;
  std::optional<TableRule> before;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    TableRule now = measured_rule(decisions[i], i, candidates[decisions[i].ruled]);
    if (!now.median_us || !now.ci_low || !now.ci_high) continue;
    if (before && before->from_bytes > 0) {
      const double ratio =
          static_cast<double>(now.from_bytes) / static_cast<double>(before->from_bytes);
      const double allowed = rules.max_step * std::max(1.0, ratio / 2);
      const bool rises = *now.median_us > allowed * *before->median_us;
      if (rises || *now.ci_high < *before->ci_low) {
        found.push_back(fmt::format(
            "the time {} from {:.2f} us ({}) at {} bytes to {:.2f} us ({}) at {} bytes{}: measure "
            "again, or add sizes in between",
            rises ? "rises" : "falls", *before->median_us, before->algorithm,
            format_size(before->from_bytes), *now.median_us, now.algorithm,
            format_size(now.from_bytes),
            rises ? fmt::format(", more than {:.3g} times", allowed) : ", beyond the intervals"));
      }
    }
    before = std::move(now);
  }
  return found;
}

std::vector<TableRule> make_rules(const std::vector<SizeDecision>& decisions,
                                  const std::vector<CandidateCells>& candidates) {
  std::vector<TableRule> rules;
  if (decisions.empty() || decisions.front().bytes > 0) rules.push_back(unmeasured_rule(0));
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (i > 0 && decisions[i].ruled == decisions[i - 1].ruled) continue;
    rules.push_back(measured_rule(decisions[i], i, candidates[decisions[i].ruled]));
  }
  const std::uint64_t highest = decisions.empty() ? 0 : decisions.back().bytes;
  if (highest > 0 && highest <= std::numeric_limits<std::int64_t>::max() / 2) {
    rules.push_back(unmeasured_rule(2 * highest));
  }
  return rules;
}

std::string describe(const std::vector<SizeDecision>& decisions,
                     const std::vector<CandidateCells>& candidates) {
  std::string text = fmt::format("{:>8} {:>12} {:>12} {:>8}  {:<28} {:<28} {}\n", "bytes",
                                 "default us", "best us", "gain", "fastest", "chosen", "because");
  for (const SizeDecision& decision : decisions) {
    const auto& standard = decision.median_us[0];
    const auto& best = decision.median_us[decision.best];
    if (!standard || !best) {
      text += fmt::format("{:>8} {:>12} {:>12} {:>8}  {:<28} default\n",
                          format_size(decision.bytes), "-", "-", "-", "-");
      continue;
    }
    text += fmt::format(
        "{:>8} {:>12.2f} {:>12.2f} {:>6.1f} %  {:<28} {:<28} {}\n", format_size(decision.bytes),
        *standard, *best, 100 * (1 - *best / *standard), label(candidates[decision.best]),
        label(candidates[decision.ruled]), decision.best == decision.ruled ? "" : decision.why_not);
  }
  return text;
}

}  // namespace commtune
