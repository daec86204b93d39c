#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "tuning/table.hpp"

namespace commtune {

/// One candidate at one size in one round: a fresh process's row.
struct Cell {
  double median_us = 0, ci_low = 0, ci_high = 0;
  std::optional<double> c2c_ns;  ///< core-to-core latency around the row: the machine's state
  std::string evidence;
  std::string served_by;  ///< what really ran, with its parameters; empty when nothing told
};

/// cells[round][size]; a missing cell was not measured, was skipped or did not run the algorithm it
/// was asked for.
struct CandidateCells {
  std::string algorithm;
  Json params = Json::object();
  std::vector<std::vector<std::optional<Cell>>> cells;
};

struct DecisionRules {
  double min_gain = 0.03;         ///< smaller gains count as noise
  double max_regret = 0.03;       ///< what merging neighbouring sizes may cost
  double max_step = 3;            ///< largest plausible rise of the time where the size doubles
  double max_state_change = 1.5;  ///< ratio of c2c_ns from which two rows are not comparable
};

/// What was found at one size. Indices count candidates; 0 is the default.
struct SizeDecision {
  std::uint64_t bytes = 0;
  std::size_t best = 0;                          ///< lowest median
  std::size_t chosen = 0;                        ///< after the noise test, before merging
  std::size_t ruled = 0;                         ///< after merging: what the table says
  std::vector<std::optional<double>> median_us;  ///< per candidate, median over rounds
  std::size_t incomparable =
      0;                ///< rounds in which the machine's state differed from the default's
  std::string why_not;  ///< why the fastest was not chosen; empty when it was
};

/// candidates[0] is the default. At each size another candidate wins only if its median gain over
/// the comparable rounds exceeds `min_gain` and its interval lies below the default's in every one
/// of them; at most one round may be missing. What the default runs anyway
/// cannot win. Then neighbouring sizes are merged as far as no size
/// loses `max_regret` or more against what was chosen for it.
std::vector<SizeDecision> decide(const std::vector<std::uint64_t>& sizes,
                                 const std::vector<CandidateCells>& candidates,
                                 const DecisionRules& rules);

/// One line for each pair of neighbouring sizes between which the time of what the table says rises
/// by more than `max_step`, which grows with the ratio of sizes beyond a doubling, or falls
/// although the intervals of all rounds lie apart. Sizes without a measurement are passed over.
std::vector<std::string> odd_steps(const std::vector<SizeDecision>& decisions,
                                   const std::vector<CandidateCells>& candidates,
                                   const DecisionRules& rules);

/// The rules of an entry: what was decided between the lowest and twice the highest size, the
/// default elsewhere. `sizes` ascends.
std::vector<TableRule> make_rules(const std::vector<SizeDecision>& decisions,
                                  const std::vector<CandidateCells>& candidates);

/// A readable table: per size the default's time, the best time, the gain and the choice.
std::string describe(const std::vector<SizeDecision>& decisions,
                     const std::vector<CandidateCells>& candidates);

}  // namespace commtune
