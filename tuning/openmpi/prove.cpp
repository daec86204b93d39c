#include "tuning/openmpi/prove.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "core/error.hpp"
#include "core/sizes.hpp"
#include "tuning/openmpi/canary.hpp"
#include "tuning/openmpi/lint.hpp"
#include "tuning/scratch_folder.hpp"

namespace commtune::openmpi {
namespace {

constexpr std::uint64_t largest_size = std::uint64_t{64} << 20;

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string asked_for(const RulesFile& rules, Collective collective, int ranks, std::uint64_t bytes,
                      Family family) {
  const TunedCollective& tuned_collective = tuned(collective);
  const MessageRule* rule =
      select(rules, tuned_collective.id, ranks, key_of(tuned_collective.key, bytes, ranks));
  if (rule == nullptr) return std::string(default_algorithm);
  const TunedAlgorithm* algorithm = find_algorithm(tuned_collective, rule->algorithm, family);
  return algorithm != nullptr ? std::string(algorithm->name)
                              : fmt::format("algorithm {}", rule->algorithm);
}

/// Rows of both sides in one round.
struct Pair {
  BenchOutcome with, without;
};

class JobProof {
 public:
  JobProof(const std::filesystem::path& file, const RulesFile& rules, Collective collective,
           int ranks, const ProofOptions& options)
      : file_(file), rules_(rules), collective_(collective), ranks_(ranks), options_(options) {}

  void run(const BenchRunner& runner, std::mt19937_64& random,
           const std::function<void(const std::string&)>& progress, Proof& proof) {
    const auto sizes = proof_sizes(rules_, collective_, ranks_, options_.element_bytes);
    std::vector<Pair> rounds;
    for (int round = 0; round < options_.rounds; ++round) {
      progress(fmt::format("round {}/{}: {} on {} ranks, {} sizes", round + 1, options_.rounds,
                           name(collective_), ranks_, sizes.size()));
      const bool table_first = random() % 2 == 0;
      Pair pair;
      if (table_first) pair.with = one_run(runner, sizes, &file_, proof);
      pair.without = one_run(runner, sizes, nullptr, proof);
      if (!table_first) pair.with = one_run(runner, sizes, &file_, proof);
      rounds.push_back(std::move(pair));
    }
    const std::size_t before = proof.lines.size();
    for (const std::uint64_t bytes : sizes) proof.lines.push_back(judge(bytes, rounds));
    const bool tells =
        std::any_of(proof.lines.begin() + static_cast<std::ptrdiff_t>(before), proof.lines.end(),
                    [](const ProofLine& line) { return line.asked != default_algorithm; });
    if (!tells) run_canary(runner, proof.lines[before], proof);
  }

 private:
  void run_canary(const BenchRunner& runner, const ProofLine& first, Proof& proof) const {
    const TunedAlgorithm* algorithm =
        canary_algorithm(collective_, ranks_, first.used_default, options_.family);
    if (algorithm == nullptr || !first.in_effect) return;
    const ScratchFolder folder;
    const std::filesystem::path path = folder.path() / "canary.conf";
    std::ofstream(path) << to_text(canary_of(rules_, collective_, ranks_, *algorithm));
    const BenchOutcome outcome = one_run(runner, {first.bytes}, &path, proof);
    const std::string used = observed(find_row(outcome, first.bytes));
    if (used == algorithm->name) {
      proof.notes.push_back(fmt::format(
          "{}, {} ranks: every rule is the library's own choice; with one rule changed to {} the "
          "library ran {}, so it reads such a file",
          name(collective_), ranks_, algorithm->name, used));
    } else {
      proof.failures.push_back(fmt::format(
          "{}, {} ranks: with one rule changed to {} the library ran {}: it does not read the file",
          name(collective_), ranks_, algorithm->name, used));
    }
  }

  /// `rules` nullptr: without any.
  BenchOutcome one_run(const BenchRunner& runner, const std::vector<std::uint64_t>& sizes,
                       const std::filesystem::path* rules, Proof& proof) const {
    BenchRequest request;
    request.collective = collective_;
    request.algorithm = "native";
    request.sizes = sizes;
    request.trace = true;
    request.time_limit_s = options_.time_limit_s;
    if (rules != nullptr) {
      request.environment = {{"OMPI_MCA_coll_tuned_use_dynamic_rules", "1"},
                             {"OMPI_MCA_coll_tuned_dynamic_rules_filename", rules->string()}};
    }
    BenchOutcome outcome = runner(request);
    for (const Row& row : outcome.rows) {
      if (row.library != "openmpi") {
        fail(Errc::unavailable, "this is about Open MPI, but {} serves the job",
             row.library.empty() ? row.transport : row.library);
      }
    }
    if (!outcome.reason.empty()) {
      if (outcome.rows.empty() && rules == nullptr) {
        fail(Errc::unavailable, "{} on {} ranks does not run: {}", name(collective_), ranks_,
             outcome.reason);
      }
      proof.failures.push_back(fmt::format("{} on {} ranks {} the rules: {}", name(collective_),
                                           ranks_, rules != nullptr ? "with" : "without",
                                           outcome.reason));
    }
    return outcome;
  }

  static std::string observed(const Row* row) {
    return row != nullptr && row->algorithm_evidence == "traced" ? row->algorithm_used : "unknown";
  }

  /// One name if all rounds agree, all of them otherwise.
  static void note(std::string& names, const std::string& name) {
    if (names.empty()) {
      names = name;
    } else if (names != name && names.find("/" + name) == std::string::npos) {
      names += "/" + name;
    }
  }

  ProofLine judge(std::uint64_t bytes, const std::vector<Pair>& rounds) const {
    ProofLine line;
    line.collective = collective_;
    line.ranks = ranks_;
    line.bytes = bytes;
    line.asked = asked_for(rules_, collective_, ranks_, bytes, options_.family);
    std::vector<double> ratios, defaults, tables;
    bool apart = true;
    for (const Pair& pair : rounds) {
      const Row* with = find_row(pair.with, bytes);
      const Row* without = find_row(pair.without, bytes);
      note(line.used, observed(with));
      note(line.used_default, observed(without));
      if (with == nullptr || without == nullptr || !with->time || !without->time) continue;
      if (!comparable(machine_state(*with), machine_state(*without),
                      options_.rules.max_state_change)) {
        ++line.incomparable;
        continue;
      }
      tables.push_back(with->time->median);
      defaults.push_back(without->time->median);
      ratios.push_back(with->time->median / without->time->median);
      const double low = with->time->ci_low / without->time->ci_high;
      const double high = with->time->ci_high / without->time->ci_low;
      line.ratio_low = ratios.size() == 1 ? low : std::min(line.ratio_low, low);
      line.ratio_high = ratios.size() == 1 ? high : std::max(line.ratio_high, high);
      apart = apart && with->time->ci_low > without->time->ci_high;
    }
    const std::string& expected = line.asked == default_algorithm ? line.used_default : line.asked;
    line.in_effect = line.used == expected && line.used != "unknown";
    if (ratios.empty()) return line;
    line.ratio = middle(ratios);
    line.default_us = middle(defaults);
    line.table_us = middle(tables);
    line.slower =
        line.asked != default_algorithm && apart && line.ratio > 1 + options_.rules.min_gain;
    return line;
  }

  static double middle(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  }

  const std::filesystem::path& file_;
  const RulesFile& rules_;
  Collective collective_;
  int ranks_;
  const ProofOptions& options_;
};

}  // namespace

bool Proof::holds() const {
  return failures.empty() && !lines.empty() &&
         std::none_of(
             findings.begin(), findings.end(),
             [](const Finding& finding) { return finding.severity == Finding::Severity::error; }) &&
         std::all_of(lines.begin(), lines.end(),
                     [](const ProofLine& line) { return line.in_effect && !line.slower; });
}

std::vector<std::uint64_t> proof_sizes(const RulesFile& rules, Collective collective, int ranks,
                                       std::uint64_t element_bytes) {
  const TunedCollective& tuned_collective = tuned(collective);
  const SizeBlock* block = select_block(rules, tuned_collective.id, ranks);
  if (block == nullptr || block->rules.empty() || collective == Collective::barrier) return {0};
  const auto whole = [&](std::uint64_t bytes) {
    return std::max<std::uint64_t>(1, (bytes + element_bytes - 1) / element_bytes) * element_bytes;
  };
  std::set<std::uint64_t> sizes;
  for (std::size_t i = 0; i < block->rules.size(); ++i) {
    const std::uint64_t start =
        whole(bytes_of(tuned_collective.key, block->rules[i].from_key, ranks));
    sizes.insert(start);
    if (i + 1 == block->rules.size()) {
      sizes.insert(2 * start);
      continue;
    }
    const std::uint64_t next = bytes_of(tuned_collective.key, block->rules[i + 1].from_key, ranks);
    if (next > start) sizes.insert(whole(start + (next - start) / 2));
  }
  std::vector<std::uint64_t> kept;
  for (const std::uint64_t bytes : sizes) {
    if (bytes <= largest_size) kept.push_back(bytes);
  }
  return kept;
}

Proof prove_rules(const std::filesystem::path& rules_file,
                  const std::vector<std::pair<Collective, int>>& jobs, const ProofOptions& options,
                  const std::function<BenchRunner(int ranks)>& runner_for,
                  const std::function<void(const std::string&)>& progress) {
  Proof proof;
  proof.findings = lint_file(rules_file, options.family);
  const RulesFile rules = parse_rules(read_text(rules_file), options.family);
  std::mt19937_64 random(options.seed);
  for (const auto& [collective, ranks] : jobs) {
    JobProof(rules_file, rules, collective, ranks, options)
        .run(runner_for(ranks), random, progress, proof);
  }
  return proof;
}

std::string describe(const Proof& proof) {
  std::string text =
      fmt::format("{:<14} {:>5} {:>8}  {:<20} {:<20} {:>12} {:>12}  {}\n", "collective", "ranks",
                  "bytes", "asked", "used", "default us", "table us", "table/default");
  std::size_t idle = 0, slower = 0, changed = 0;
  for (const ProofLine& line : proof.lines) {
    text += fmt::format(
        "{:<14} {:>5} {:>8}  {:<20} {:<20} {:>12.2f} {:>12.2f}  {:.3f} [{:.3f}, {:.3f}]{}{}\n",
        name(line.collective), line.ranks, format_size(line.bytes), line.asked, line.used,
        line.default_us, line.table_us, line.ratio, line.ratio_low, line.ratio_high,
        line.in_effect ? "" : "  NOT IN EFFECT", line.slower ? "  SLOWER" : "");
    changed += line.incomparable;
    if (!line.in_effect) ++idle;
    if (line.slower) ++slower;
  }
  for (const Finding& finding : proof.findings) {
    if (finding.severity == Finding::Severity::error) {
      text += fmt::format("error: line {}: {}\n", finding.line, finding.text);
    }
  }
  for (const std::string& note : proof.notes) text += note + "\n";
  for (const std::string& failure : proof.failures) text += "failed: " + failure + "\n";
  if (changed > 0) {
    text += fmt::format("{} comparisons set aside: the machine changed its state between runs\n",
                        changed);
  }
  if (proof.holds()) {
    return text +
           fmt::format("proved: in effect at all {} sizes, no rule slower than the default\n",
                       proof.lines.size());
  }
  if (proof.lines.empty()) text += "nothing was run\n";
  if (idle > 0) {
    text += fmt::format("NOT PROVED: the rules are not in effect at {} of {} sizes\n", idle,
                        proof.lines.size());
  }
  if (slower > 0) {
    text += fmt::format("NOT PROVED: slower than the default at {} of {} sizes\n", slower,
                        proof.lines.size());
  }
  if (idle == 0 && slower == 0) text += "NOT PROVED: see the errors above\n";
  return text;
}

}  // namespace commtune::openmpi
