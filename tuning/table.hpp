#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/types.hpp"

namespace commtune {

/// The algorithm name that means "let the library decide".
inline constexpr std::string_view default_algorithm = "default";

/// From this many bytes per rank on, use this algorithm. Times are microseconds at the first size
/// the rule was measured at; nothing is set where nothing was measured.
struct TableRule {
  std::uint64_t from_bytes = 0;
  std::string algorithm{default_algorithm};
  Json params = Json::object();  ///< non-negative integers, by the library's parameter name
  std::optional<double> median_us, ci_low, ci_high, default_us;
  std::optional<double> gain;  ///< share of the default's time that is saved
  std::string evidence;        ///< how the algorithm was known to run
};

/// Rules for one collective on one shape of job. `rules` is ascending and starts at 0.
struct TableEntry {
  Collective collective = Collective::allreduce;
  int ranks = 1, nodes = 1, ppn = 1;
  std::string dtype_class;  ///< "float" or "integer"
  std::string library;      ///< "openmpi", "mpich"; "commtune" for the algorithms of this project
  std::vector<TableRule> rules;
};

/// `commtune.table/1`.
struct DecisionTable {
  Json run = Json::object();
  std::vector<TableEntry> entries;
  std::uint64_t measured_low = 0, measured_high = 0;  ///< bytes per rank
  std::vector<int> measured_ranks;                    ///< ascending
  std::uint64_t points = 0, full_grid = 0;            ///< cells measured, cells of the whole plan
  double seconds = 0;
  std::vector<std::string> warnings;
};

Json to_json(const DecisionTable&);
/// Strict: unknown or missing keys, a first rule that is not 0, unsorted rules, impossible numbers
/// and duplicate entries throw Error(usage) that starts with `where`.
DecisionTable table_from_json(const Json&, const std::string& where);
DecisionTable read_table(const std::filesystem::path&);

/// The rule that serves `bytes` per rank. `rules` is not empty and starts at 0.
const TableRule& rule_for(const std::vector<TableRule>& rules, std::uint64_t bytes);

/// Text for people: one line per rule, the measured range, the warnings.
std::string show(const DecisionTable&);

/// "segsize=64K,fanout=4"; empty for no parameters.
std::string describe_params(const Json& params);

}  // namespace commtune
