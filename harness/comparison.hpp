#pragma once
#include <optional>
#include <string>
#include <vector>

#include "harness/record.hpp"

namespace commtune {

/// What one result file says in one line of a comparison.
struct ComparedTime {
  double median_us = 0, ci_low_us = 0, ci_high_us = 0;
  bool suspect = false;  ///< flagged not_stationary, state_changed or few_samples, or wrong data
};

enum class Verdict : std::uint8_t { same, faster, slower, unknown };

/// The same measurement in several files. `times` has an element per file; the first file is the
/// base of ratios and verdicts.
struct ComparedRow {
  std::string what;  ///< test, algorithm, size and whatever else tells rows of the files apart
  std::vector<std::optional<ComparedTime>> times;
  /// Of file `i` against the base: other than `same` only when the intervals of the medians do not
  /// touch; `unknown` when either side is missing or suspect.
  Verdict verdict(std::size_t i) const;
  /// Median over the base's median.
  std::optional<double> ratio(std::size_t i) const;
};

struct Comparison {
  std::vector<std::string> columns;  ///< what tells the files apart: label, transport, library
  std::vector<ComparedRow> rows;     ///< in the order of the first file that has them
};

/// Rows match when test, collective, algorithm asked, ranks, device, bytes asked, type, operator,
/// root, placement, buffers and parameters are equal; of several such rows in a file the last one
/// counts. Skipped and failed rows are left out. `names` are the files' names, for columns.
Comparison compare_results(const std::vector<ResultDocument>&,
                           const std::vector<std::string>& names);

}  // namespace commtune
