#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

#include "collectives/libraries/library.hpp"
#include "collectives/schedule/params.hpp"
#include "commands/command.hpp"
#include "commands/recorded_job.hpp"
#include "core/error.hpp"
#include "core/sizes.hpp"
#include "harness/record.hpp"
#include "microbench/session.hpp"
#include "transports/job.hpp"
#include "tuning/table.hpp"

namespace commtune {
namespace {

struct BenchArguments {
  std::vector<std::string> tests;
  std::string timeline;
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

bool serves_parameters(const Benchmark& benchmark) noexcept { return benchmark.name == "ps"; }

void require_ranks(const BenchArguments& arguments) {
  const RunOptions& options = arguments.options;
  for (const std::string& test : arguments.tests) {
    if (test == "all") continue;
    const Benchmark& benchmark = find_benchmark(test, "TEST");
    const Rank needed = minimum_ranks(benchmark);
    require(options.ranks >= needed, "-n/--ranks {}: {} needs {} ranks", options.ranks, test,
            needed);
    require(!serves_parameters(benchmark) || options.ranks > options.servers,
            "-n/--ranks {}: {} with --servers {} needs {} ranks, so that one is a worker",
            options.ranks, test, options.servers, options.servers + 1);
  }
}

/// An algorithm that one of the tests has is skipped by the others; one that none has, or that none
/// has with these parameters, is a mistake.
void require_algorithms(const RunOptions& options, const std::vector<const Benchmark*>& chosen) {
  for (const std::string& name : options.algorithms) {
    if (name == "auto" || name == "all" || names_library(name)) continue;
    const AlgorithmSpec spec = parse_algorithm_spec(name, "--algorithm");
    std::string unknown, wrong;
    bool served = false;
    for (const Benchmark* benchmark : chosen) {
      if (served || !benchmark->collective) continue;
      const Algorithm* algorithm = nullptr;
      try {
        algorithm = &find_algorithm(*benchmark->collective, spec.name, "--algorithm");
        params_of(spec, *algorithm, "--algorithm");
        served = true;
      } catch (const Error& error) {
        (algorithm == nullptr ? unknown : wrong) = error.what();
      }
    }
    const std::string& problem = wrong.empty() ? unknown : wrong;
    if (!served && !problem.empty()) fail(Errc::usage, "{}", problem);
  }
}

/// One sentence for each option that was given and changes nothing in a test that was asked for.
std::vector<std::string> options_without_effect(const RunOptions& options,
                                                const std::vector<const Benchmark*>& chosen) {
  std::vector<std::string> notes;
  const auto given = [&options](std::string_view option) {
    return std::any_of(options.argv.begin(), options.argv.end(), [&](const std::string& word) {
      return word == option || word.rfind(std::string(option) + "=", 0) == 0;
    });
  };
  const auto note = [&notes](std::string_view option, std::string_view test) {
    notes.push_back(fmt::format("{} has no effect on {}", option, test));
  };
  for (const Benchmark* benchmark : chosen) {
    const bool collective = benchmark->collective.has_value();
    for (const std::string_view option :
         {"--algorithm", "--table", "--dtype", "--op", "--root", "--in-place"}) {
      const bool typed = option == "--dtype" && serves_parameters(*benchmark);
      if (!collective && !typed && given(option)) note(option, benchmark->name);
    }
    for (const std::string_view option : {"--servers", "--asynchronous"}) {
      if (!serves_parameters(*benchmark) && given(option)) note(option, benchmark->name);
    }
    if (benchmark->kind != BenchmarkKind::collective && given("--timeline")) {
      note("--timeline", benchmark->name);
    }
    if (!collective) continue;
    if (!reduces(*benchmark->collective) && given("--op")) note("--op", benchmark->name);
    if (!rooted(*benchmark->collective) && given("--root")) note("--root", benchmark->name);
    if (*benchmark->collective != Collective::barrier) continue;
    for (const std::string_view option : {"--sizes", "--dtype", "--in-place", "--cold"}) {
      if (given(option)) note(option, benchmark->name);
    }
  }
  return notes;
}

Params params_from_json(const Json& json, const Algorithm& algorithm, const std::string& where) {
  AlgorithmSpec spec{std::string(algorithm.name), {}};
  for (const auto& [knob, value] : json.items()) {
    spec.knobs.emplace_back(knob, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return params_of(spec, algorithm, where);
}

/// The transport that the table was measured over, empty when it does not say.
std::string table_transport(const DecisionTable& table) {
  const auto transport = table.run.find("transport");
  if (transport == table.run.end() || !transport->is_object()) return {};
  const auto name = transport->find("name");
  return name != transport->end() && name->is_string() ? name->get<std::string>() : std::string();
}

/// The entry that serves a collective of the job, null when there is none.
const TableEntry* find_entry(const DecisionTable& table, const std::string& transport,
                             Collective collective, Rank ranks) {
  const std::string measured = table_transport(table);
  if (!measured.empty() && measured != transport) return nullptr;
  for (const TableEntry& entry : table.entries) {
    if (entry.collective == collective && entry.ranks == ranks && entry.library == "commtune") {
      return &entry;
    }
  }
  return nullptr;
}

/// What the table is for when it has nothing for a collective that `auto` chooses for; else empty.
std::string table_without_effect(const DecisionTable& table, const RunOptions& options,
                                 const std::vector<const Benchmark*>& chosen) {
  const auto& asked = options.algorithms;
  if (std::find(asked.begin(), asked.end(), "auto") == asked.end()) {
    return fmt::format("--table {} has no effect without --algorithm auto", options.table.string());
  }
  std::string missing;
  for (const Benchmark* benchmark : chosen) {
    if (!benchmark->collective) continue;
    if (find_entry(table, options.transport, *benchmark->collective, options.ranks) != nullptr) {
      continue;
    }
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", benchmark->name);
  }
  if (missing.empty()) return {};
  std::string entries;
  for (const TableEntry& entry : table.entries) {
    entries += fmt::format("{}{} {} with {} ranks", entries.empty() ? "" : ", ", entry.library,
                           name(entry.collective), entry.ranks);
    if (entries.size() > 200) {
      entries += ", ...";
      break;
    }
  }
  const std::string transport = table_transport(table);
  return fmt::format(
      "--table {} is for {}{}{}; for commtune {} with {} ranks over {} the built-in table is used",
      options.table.string(), entries.empty() ? "nothing" : entries,
      transport.empty() ? "" : " over ", transport, missing, options.ranks, options.transport);
}

/// `auto` from a measured table; what the table does not cover falls back to the built-in one.
AutoSelect select_from(std::shared_ptr<const DecisionTable> table, const RunOptions& options) {
  return [table = std::move(table), path = options.table, transport = options.transport](
             Collective collective, Rank ranks, std::uint64_t bytes, DataType) {
    if (const TableEntry* entry = find_entry(*table, transport, collective, ranks)) {
      const TableRule& rule = rule_for(entry->rules, bytes);
      if (rule.algorithm != default_algorithm) {
        const std::string where = fmt::format("--table {}", path.string());
        const Algorithm& algorithm = find_algorithm(collective, rule.algorithm, where);
        return Selection{&algorithm, params_from_json(rule.params, algorithm, where),
                         fmt::format("table {}", path.filename().string())};
      }
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
  plan.timeline = arguments.timeline;
  if (!plan.timeline.empty() && launcher_environment().rank == 0) {
    require_writable(plan.timeline, "--timeline");
  }
  std::vector<std::string> notes = options_without_effect(options, plan.benchmarks);
  if (!options.table.empty()) {
    auto table = std::make_shared<const DecisionTable>(read_table(options.table));
    std::string note = table_without_effect(*table, options, plan.benchmarks);
    if (!note.empty()) notes.push_back(std::move(note));
    plan.select = select_from(std::move(table), options);
  }
  const bool speaks = launcher_environment().rank == 0;
  for (std::string& note : notes) {
    if (speaks) fmt::print(stderr, "commtune: {}\n", note);
    options.warnings.push_back(std::move(note));
  }
  plan.options = options;

  return run_recorded_job(options, [&plan](Job& job) {
    require_library(job, plan.options.mpi);
    return run_benchmarks(job, plan, std::cout);
  });
}

int parse_servers(const std::string& text) {
  constexpr std::uint64_t most = (1U << 20) - 1;
  const std::uint64_t servers = parse_count(text, "--servers");
  require(servers >= 1 && servers <= most, "--servers '{}': must be 1 to {}", text, most);
  return static_cast<int>(servers);
}

void add_parameter_server_options(CLI::App& app, RunOptions& options) {
  app.add_option_function<std::string>(
         "--servers",
         [&options](const std::string& text) { options.servers = parse_servers(text); },
         "ps: ranks that keep the parameters, the others work [1]")
      ->type_name("K");
  app.add_flag("--asynchronous", options.asynchronous,
               "ps: servers add each push at once instead of step by step");
}

std::function<int()> add_bench(CLI::App& app, const std::vector<std::string>& argv) {
  auto arguments = std::make_shared<BenchArguments>();
  arguments->options.argv = argv;
  app.add_option("TEST", arguments->tests, "names from `list tests`, or all")
      ->required()
      ->type_name("TEST");
  app.add_option("--timeline", arguments->timeline,
                 "write every rank's calls for chrome://tracing or Perfetto")
      ->type_name("FILE");
  add_run_options(app, arguments->options);
  add_parameter_server_options(app, arguments->options);
  return [arguments] { return run_bench(*arguments); };
}

}  // namespace

extern const Command command_bench{"bench", "run microbenchmarks", add_bench};

}  // namespace commtune
