#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuning/bench_run.hpp"
#include "tuning/decision.hpp"
#include "tuning/openmpi/rules.hpp"

namespace commtune::openmpi {

struct ProofOptions {
  int rounds = 3;
  Family family = Family::v4_1;
  std::uint64_t seed = 1;
  std::uint64_t element_bytes = 4;  ///< sizes are multiples of this
  double time_limit_s = 0.3;        ///< per row
  DecisionRules rules;
};

/// One size, with and without the rules file.
struct ProofLine {
  Collective collective;
  int ranks;
  std::uint64_t bytes;
  std::string asked;         ///< by the file; "default" for the library's decision
  std::string used;          ///< with the file, as traced; "unknown" when nothing told
  std::string used_default;  ///< without it
  double default_us = 0, table_us = 0;
  double ratio = 0, ratio_low = 0, ratio_high = 0;  ///< table / default
  std::size_t incomparable = 0;  ///< rounds set aside because the machine changed its state
  bool in_effect = false;
  bool slower =
      false;  ///< beyond noise, by the rules of a decision; never where "default" is asked
};

struct Proof {
  std::vector<ProofLine> lines;
  std::vector<Finding> findings;      ///< of the rules file
  std::vector<std::string> failures;  ///< runs that failed, with the reason
  std::vector<std::string> notes;     ///< how a file of defaults alone was shown to be read
  bool holds() const;  ///< no error found, every rule in effect, nothing slower than the default
};

/// Runs the real library at the start of every rule and inside it, with and without `rules_file`
/// (absolute), interleaved in fresh processes. `jobs` lists the collectives and rank counts;
/// `runner_for` gives the runner of a rank count. Throws Error(unavailable) when another library
/// than Open MPI serves the job.
Proof prove_rules(const std::filesystem::path& rules_file,
                  const std::vector<std::pair<Collective, int>>& jobs, const ProofOptions& options,
                  const std::function<BenchRunner(int ranks)>& runner_for,
                  const std::function<void(const std::string&)>& progress);

/// The sizes at which prove_rules looks: the start of every rule and a point inside it.
std::vector<std::uint64_t> proof_sizes(const RulesFile&, Collective, int ranks,
                                       std::uint64_t element_bytes);

/// For people: one line per size, then the verdict.
std::string describe(const Proof&);

}  // namespace commtune::openmpi
