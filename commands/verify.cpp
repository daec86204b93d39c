#include <memory>

#include "collectives/schedule/export.hpp"
#include "collectives/schedule/mutate.hpp"
#include "collectives/schedule/prove.hpp"
#include "commands/command.hpp"
#include "core/error.hpp"
#include "core/sizes.hpp"

namespace commtune {
namespace {

struct VerifyArguments {
  std::string what, ranks = "1:64", form;
  std::uint64_t mutations = 0, seed = 1;
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

std::vector<Schedule> schedules_of(const Algorithm& algorithm, Shape shape, const Params& params) {
  std::vector<Schedule> schedules;
  for (shape.rank = 0; shape.rank < shape.size; ++shape.rank) {
    schedules.push_back(algorithm.generate(shape, params));
  }
  return schedules;
}

/// One line on stdout: cases, steps, time. False after the first violation, told on stderr.
bool prove_one(const Algorithm& algorithm, const std::vector<int>& ranks) {
  const Algorithm* const only[] = {&algorithm};
  const ProofReport report = prove(only, ranks);
  const AlgorithmProof& proof = report.algorithms.front();
  fmt::print("{:<36} {:>8} cases {:>12} steps {:>8.2f} s  {}\n", title_of(algorithm), proof.cases,
             proof.steps, proof.seconds, report.proved() ? "proved" : "violated");
  if (proof.failure) fmt::print(stderr, "commtune: {}\n", *proof.failure);
  return report.proved();
}

/// Breaks the algorithm on purpose and counts what the proof rejects. False when a fault survived.
bool test_proof(const Algorithm& algorithm, const std::vector<int>& ranks, std::uint64_t mutations,
                std::uint64_t seed) {
  constexpr int most_ranks = 16;
  MutationReport total;
  for (const int size : ranks) {
    if (size < 2 || size > most_ranks) continue;
    MutationReport report = mutation_test(algorithm, size, mutations, seed);
    total.applied += report.applied;
    total.rejected += report.rejected;
    total.survivors.insert(total.survivors.end(), report.survivors.begin(), report.survivors.end());
  }
  fmt::print("{:<36} {:>8} faults {:>11} rejected\n", title_of(algorithm), total.applied,
             total.rejected);
  for (const std::string& survivor : total.survivors) {
    fmt::print(stderr, "commtune: a fault was not noticed: {}\n", survivor);
  }
  return total.survivors.empty();
}

void export_schedule(const Algorithm& algorithm, int ranks, const std::string& form) {
  const auto schedules = schedules_of(algorithm, Shape{0, ranks, 0, false}, Params{});
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
  bool good = true;
  for (const Algorithm* algorithm : chosen) {
    good = prove_one(*algorithm, ranks) && good;
    if (arguments.mutations != 0) {
      good = test_proof(*algorithm, ranks, arguments.mutations, arguments.seed) && good;
    }
    std::fflush(stdout);
  }
  return good ? exit_ok : exit_measured_failure;
}

std::function<int()> add_verify(CLI::App& app, const std::vector<std::string>&) {
  auto arguments = std::make_shared<VerifyArguments>();
  app.add_option("COLLECTIVE", arguments->what, "COLLECTIVE or COLLECTIVE/ALGORITHM [all]")
      ->type_name("");
  app.add_option("--ranks", arguments->ranks, "numbers of ranks: 1:64, 2,3,5 [1:64]")
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
  app.add_option("--export", arguments->form, "print the schedules instead: text, graphviz")
      ->type_name("FORM");
  return [arguments] { return run_verify(*arguments); };
}

}  // namespace

extern const Command command_verify{"verify", "prove algorithms right without running them",
                                    add_verify};

}  // namespace commtune
