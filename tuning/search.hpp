#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/options.hpp"
#include "tuning/bench_run.hpp"
#include "tuning/decision.hpp"
#include "tuning/table.hpp"

namespace commtune {

struct SearchOptions {
  std::vector<Collective> collectives = {Collective::allreduce};
  std::vector<std::uint64_t> sizes;  ///< ascending, bytes per rank
  int rounds = 3;
  double budget_s = 0;        ///< stop measuring after this; 0: no limit
  double time_limit_s = 0.3;  ///< per row
  bool force = false;         ///< accept oversubscribed runs
  DecisionRules rules;
};

struct SearchReport {
  DecisionTable table;
  std::string summary;  ///< for people: per size the default, the best and the choice
};

/// Where the search tells what it does; every call is one line without a newline.
using Progress = std::function<void(const std::string&)>;
/// Called with the table so far after every round, so that an interrupted search leaves its
/// results.
using Checkpoint = std::function<void(const DecisionTable&)>;

/// Measures the default and every other algorithm of the library that serves the job, in fresh
/// processes, interleaved in a random order that `options.seed` fixes. A candidate that fails,
/// hangs or has wrong data is excluded with a warning. Throws when the default itself fails, and
/// Error(wrong_result) when the default has wrong data in any round or ranks outnumber processors
/// unless `force`.
SearchReport search(const RunOptions& options, const SearchOptions& search_options,
                    const BenchRunner& runner, const Progress& progress,
                    const Checkpoint& checkpoint);

/// Makes a table's `run` tell of the command in `options`: its argv and label.
void describe_command(const RunOptions& options, Json& run);

/// "float" or "integer".
std::string_view dtype_class(DataType) noexcept;

}  // namespace commtune
