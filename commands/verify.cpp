#include <memory>
#include <optional>

#include "collectives/schedule/export.hpp"
#include "collectives/schedule/mutate.hpp"
#include "collectives/schedule/prove.hpp"
#include "commands/command.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/sizes.hpp"

namespace commtune {
namespace {

struct VerifyArguments {
  std::string what, ranks = "1:64", form;
  std::uint64_t mutations = 0, seed = 1;
  bool json = false;
};

/// What became of one algorithm.
struct Outcome {
  AlgorithmProof proof;
  std::optional<MutationReport> faults;

  bool refused() const { return proof.cases == 0 && !proof.failure && !proof.untried; }
  bool good() const {
    return !proof.failure && !proof.untried && (!faults || faults->survivors.empty());
  }
  std::string_view status() const {
    if (proof.failure) return "violated";
    if (proof.untried) return "untried";
    return refused() ? "refused" : "proved";
  }
};

std::vector<const Algorithm*> select_algorithms(const std::string& what) {
  std::vector<const Algorithm*> chosen;
  const std::size_t slash = what.find('/');
  if (what.empty()) {
    for (const Algorithm* algorithm : algorithms()) chosen.push_back(algorithm);
    return chosen;
  }
  const Collective collective = parse_collective(what.substr(0, slash), "COLLECTIVE");
  if (slash != std::string::npos) {
    chosen.push_back(&find_algorithm(collective, what.substr(slash + 1), "ALGORITHM"));
    return chosen;
  }
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->collective == collective) chosen.push_back(algorithm);
  }
  return chosen;
}

std::string title_of(const Algorithm& algorithm) {
  return fmt::format("{}/{}", name(algorithm.collective), algorithm.name);
}

AlgorithmProof prove_one(const Algorithm& algorithm, const std::vector<int>& ranks) {
  const Algorithm* const only[] = {&algorithm};
  return prove(only, ranks).algorithms.front();
}

/// Breaks the algorithm on purpose and counts what the proof rejects.
MutationReport test_proof(const Algorithm& algorithm, const std::vector<int>& ranks,
                          std::uint64_t mutations, std::uint64_t seed) {
  constexpr int most_ranks = 16;
  MutationReport total;
  for (const int size : ranks) {
    if (size < 2 || size > most_ranks) continue;
    MutationReport report = mutation_test(algorithm, size, mutations, seed);
    total.applied += report.applied;
    total.rejected += report.rejected;
    total.survivors.insert(total.survivors.end(), report.survivors.begin(), report.survivors.end());
  }
  return total;
}

/// One line on stdout for the proof and one for the faults; what went wrong on stderr.
void print_text(const Outcome& outcome) {
  const AlgorithmProof& proof = outcome.proof;
  const Algorithm& algorithm = *proof.algorithm;
  const std::string_view order = !reduces(algorithm.collective) ? ""
                                 : proof.facts.keeps_order      ? ", order kept"
                                                                : ", needs a commutative operator";
  fmt::print("{:<36} {:>8} cases {:>12} steps {:>8.2f} s  {}{}\n", title_of(algorithm), proof.cases,
             proof.steps, proof.seconds, outcome.status(),
             outcome.status() == "proved" ? order : std::string_view{});
  if (outcome.refused()) {
    fmt::print(stderr, "commtune: {} serves none of these numbers of ranks; it needs {}\n",
               title_of(algorithm), algorithm.needs);
  }
  if (proof.untried) fmt::print(stderr, "commtune: not proved: {}\n", *proof.untried);
  if (proof.failure) fmt::print(stderr, "commtune: {}\n{}", *proof.failure, proof.counterexample);
  if (!outcome.faults) return;
  fmt::print("{:<36} {:>8} faults {:>11} rejected\n", title_of(algorithm), outcome.faults->applied,
             outcome.faults->rejected);
  for (const std::string& survivor : outcome.faults->survivors) {
    fmt::print(stderr, "commtune: a fault was not noticed: {}\n", survivor);
  }
}

Json to_json(const Outcome& outcome) {
  const AlgorithmProof& proof = outcome.proof;
  const auto text = [](const std::optional<std::string>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json entry{
      {"name", title_of(*proof.algorithm)},
      {"collective", name(proof.algorithm->collective)},
      {"algorithm", proof.algorithm->name},
      {"status", outcome.status()},
      {"keeps_order", outcome.status() == "proved" ? Json(proof.facts.keeps_order) : Json()},
      {"cases", proof.cases},
      {"steps", proof.steps},
      {"messages", proof.messages},
      {"seconds", proof.seconds},
      {"failure", text(proof.failure)},
      {"counterexample", proof.counterexample.empty() ? Json(nullptr) : Json(proof.counterexample)},
      {"untried", text(proof.untried)}};
  if (outcome.faults) {
    entry["faults"] = {{"applied", outcome.faults->applied},
                       {"rejected", outcome.faults->rejected},
                       {"survivors", outcome.faults->survivors}};
  }
  return entry;
}

void export_schedule(const Algorithm& algorithm, int ranks, const std::string& form) {
  const auto schedules = generate_all(algorithm, Shape{0, ranks, 0, false}, Params{});
  if (form == "graphviz") {
    fmt::print("{}",
               to_graphviz(schedules, fmt::format("{}, {} ranks", title_of(algorithm), ranks)));
    return;
  }
  fmt::print("{}, {} ranks\n", title_of(algorithm), ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    fmt::print("{}", to_text(schedules[static_cast<std::size_t>(rank)], rank));
  }
}

int run_verify(const VerifyArguments& arguments) {
  const auto chosen = select_algorithms(arguments.what);
  const auto ranks = parse_rank_range(arguments.ranks, "--ranks");
  if (!arguments.form.empty()) {
    require(arguments.form == "text" || arguments.form == "graphviz",
            "--export '{}': unknown form; valid: text, graphviz", arguments.form);
    require(ranks.size() == 1, "--ranks {}: --export needs a single number of ranks",
            arguments.ranks);
    for (const Algorithm* algorithm : chosen) {
      export_schedule(*algorithm, ranks.front(), arguments.form);
    }
    return exit_ok;
  }
  bool good = true, any = false;
  Json entries = Json::array();
  for (const Algorithm* algorithm : chosen) {
    Outcome outcome{prove_one(*algorithm, ranks), std::nullopt};
    if (arguments.mutations != 0) {
      outcome.faults = test_proof(*algorithm, ranks, arguments.mutations, arguments.seed);
    }
    good = good && outcome.good();
    any = any || !outcome.refused();
    if (arguments.json) {
      entries.push_back(to_json(outcome));
    } else {
      print_text(outcome);
      std::fflush(stdout);
    }
  }
  if (arguments.json) fmt::print("{}\n", entries.dump(2));
  require(any, "--ranks {}: none of the algorithms serves these numbers of ranks", arguments.ranks);
  return good ? exit_ok : exit_measured_failure;
}

std::function<int()> add_verify(CLI::App& app, const std::vector<std::string>&) {
  auto arguments = std::make_shared<VerifyArguments>();
  add_algorithm_options(app);
  app.add_option("COLLECTIVE", arguments->what, "COLLECTIVE or COLLECTIVE/ALGORITHM [all]")
      ->type_name("");
  app.add_option("--ranks", arguments->ranks, "numbers of ranks: 1:64, 96,100,1000:1025 [1:64]")
      ->type_name("RANGE");
  app.add_option_function<std::string>(
         "--mutations",
         [arguments](const std::string& text) {
           arguments->mutations = parse_count(text, "--mutations");
         },
         "also break each algorithm N times per number of ranks up to 16; the proof must notice")
      ->type_name("N");
  app.add_option_function<std::string>(
         "--seed",
         [arguments](const std::string& text) { arguments->seed = parse_count(text, "--seed"); },
         "of the faults [1]")
      ->type_name("N");
  app.add_flag("--json", arguments->json, "an array of objects");
  app.add_option("--export", arguments->form, "print the schedules instead: text, graphviz")
      ->type_name("FORM");
  return [arguments] { return run_verify(*arguments); };
}

}  // namespace

extern const Command command_verify{"verify", "prove algorithms right without running them",
                                    add_verify};

}  // namespace commtune
