#include <algorithm>
#include <iostream>
#include <memory>

#include "commands/command.hpp"
#include "core/error.hpp"
#include "harness/record.hpp"
#include "microbench/session.hpp"
#include "transports/job.hpp"
#include "tuning/table.hpp"

namespace commtune {
namespace {

struct BenchArguments {
  std::vector<std::string> tests;
  RunOptions options;
};

std::vector<const Benchmark*> select_benchmarks(const std::vector<std::string>& tests) {
  std::vector<const Benchmark*> chosen;
  const auto add = [&chosen](const Benchmark* benchmark) {
    if (std::find(chosen.begin(), chosen.end(), benchmark) == chosen.end()) {
      chosen.push_back(benchmark);
    }
  };
  for (const std::string& test : tests) {
    if (test == "all") {
      for (const Benchmark* benchmark : benchmarks()) add(benchmark);
    } else {
      add(&find_benchmark(test, "TEST"));
    }
  }
  return chosen;
}

void require_ranks(const BenchArguments& arguments) {
  for (const std::string& test : arguments.tests) {
    if (test == "all") continue;
    const Rank needed = minimum_ranks(find_benchmark(test, "TEST"));
    require(arguments.options.ranks >= needed, "-n/--ranks {}: {} needs {} ranks",
            arguments.options.ranks, test, needed);
  }
}

/// An algorithm that one of the tests has is skipped by the others; one that none has is a mistake.
void require_algorithms(const RunOptions& options, const std::vector<const Benchmark*>& chosen) {
  for (const std::string& name : options.algorithms) {
    if (name == "auto" || name == "all" || name == "native") continue;
    const Benchmark* last = nullptr;
    const bool known = std::any_of(chosen.begin(), chosen.end(), [&](const Benchmark* benchmark) {
      if (!benchmark->collective) return false;
      last = benchmark;
      const auto all = algorithms();
      return std::any_of(all.begin(), all.end(), [&](const Algorithm* algorithm) {
        return algorithm->collective == *benchmark->collective && algorithm->name == name;
      });
    });
    if (!known && last != nullptr) find_algorithm(*last->collective, name, "--algorithm");
  }
}

/// One line for each option that was given and changes nothing in a test that was asked for.
void note_options_without_effect(const RunOptions& options,
                                 const std::vector<const Benchmark*>& chosen) {
  const auto given = [&options](std::string_view option) {
    return std::any_of(options.argv.begin(), options.argv.end(), [&](const std::string& word) {
      return word == option || word.rfind(std::string(option) + "=", 0) == 0;
    });
  };
  const auto note = [](std::string_view option, std::string_view test) {
    fmt::print(stderr, "commtune: {} has no effect on {}\n", option, test);
  };
  for (const Benchmark* benchmark : chosen) {
    const bool collective = benchmark->collective.has_value();
    for (const std::string_view option :
         {"--algorithm", "--table", "--dtype", "--op", "--root", "--in-place"}) {
      if (!collective && given(option)) note(option, benchmark->name);
    }
    if (!collective) continue;
    if (!reduces(*benchmark->collective) && given("--op")) note("--op", benchmark->name);
    if (!rooted(*benchmark->collective) && given("--root")) note("--root", benchmark->name);
    if (*benchmark->collective != Collective::barrier) continue;
    for (const std::string_view option : {"--sizes", "--dtype", "--in-place", "--cold"}) {
      if (given(option)) note(option, benchmark->name);
    }
  }
}

Params params_from_json(const Json& json, const std::string& where) {
  Params params;
  StrictObject object(json, where);
  if (object.find("segments") != nullptr) {
    params.segments = static_cast<std::uint32_t>(object.count("segments"));
  }
  if (object.find("radix") != nullptr) {
    params.radix = static_cast<std::uint32_t>(object.count("radix"));
  }
  object.finish();
  return params;
}

/// `auto` from a measured table; what the table does not cover falls back to the built-in one.
AutoSelect select_from(const std::filesystem::path& path) {
  const auto table = std::make_shared<const DecisionTable>(read_table(path));
  return [table, path](Collective collective, Rank ranks, std::uint64_t bytes, DataType) {
    for (const TableEntry& entry : table->entries) {
      if (entry.collective != collective || entry.ranks != ranks || entry.library != "commtune") {
        continue;
      }
      const TableRule& rule = rule_for(entry.rules, bytes);
      if (rule.algorithm == default_algorithm) break;
      const std::string where = fmt::format("--table {}", path.string());
      return Selection{&find_algorithm(collective, rule.algorithm, where),
                       params_from_json(rule.params, where),
                       fmt::format("table {}", path.filename().string())};
    }
    return select_built_in(collective, ranks, bytes);
  };
}

void require_library(const Job& job, const std::string& asked) {
  if (asked.empty() || job.library.name.empty()) return;
  const bool same = asked.find('/') == std::string::npos ? job.library.name == asked : true;
  if (!same) {
    fail(Errc::unavailable, "--mpi {}: the module of this build loaded {} from {}", asked,
         job.library.name, job.library.path);
  }
}

int run_bench(BenchArguments& arguments) {
  RunOptions& options = arguments.options;
  BenchPlan plan;
  plan.benchmarks = select_benchmarks(arguments.tests);
  require_algorithms(options, plan.benchmarks);
  complete_run_options(options);
  require_ranks(arguments);
  if (!options.table.empty()) plan.select = select_from(options.table);
  const bool speaks = launcher_environment().rank == 0;
  if (speaks) note_options_without_effect(options, plan.benchmarks);
  plan.options = options;

  LaunchOptions launch;
  launch.transport = options.transport;
  launch.ranks = options.ranks;
  launch.timeout_s = options.timeout_s;
  launch.launcher = options.launcher;
  launch.argv = options.argv;
  const Outcome outcome = run_job(launch, [&plan](Job& job) {
    require_library(job, plan.options.mpi);
    return run_benchmarks(job, plan, std::cout);
  });
  if (!outcome.reason.empty() && speaks) {
    if (!options.output.empty()) close_result_file(options.output, outcome.reason);
    // Rows that failed have been reported one by one.
    if (outcome.status != exit_measured_failure) {
      fmt::print(stderr, "commtune: {}\n", outcome.reason);
    }
  }
  return outcome.status;
}

std::function<int()> add_bench(CLI::App& app, const std::vector<std::string>& argv) {
  auto arguments = std::make_shared<BenchArguments>();
  arguments->options.argv = argv;
  app.add_option("TEST", arguments->tests, "names from `list tests`, or all")
      ->required()
      ->type_name("TEST");
  add_run_options(app, arguments->options);
  return [arguments] { return run_bench(*arguments); };
}

}  // namespace

extern const Command command_bench{"bench", "run microbenchmarks", add_bench};

}  // namespace commtune
