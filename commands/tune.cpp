#include <algorithm>
#include <atomic>
#include <csignal>
#include <iostream>
#include <memory>

#include "commands/command.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/sizes.hpp"
#include "core/topology.hpp"
#include "transports/job.hpp"
#include "tuning/candidates.hpp"
#include "tuning/search.hpp"

namespace commtune {
namespace {

constexpr std::string_view default_sizes = "8:4M";
constexpr double shortest_row_s = 0.05, longest_row_s = 0.3;
/// Candidates assumed when a budget is shared out before they are known.
constexpr double usual_candidates = 8;

struct TuneArguments {
  std::vector<std::string> collectives;
  RunOptions options;
  std::uint64_t rounds = 3;
  double budget_s = 0;
  bool force = false;
  CLI::Option* time_limit = nullptr;  ///< owned by the parser, which outlives the run
};

std::vector<std::uint64_t> ascending(std::vector<std::uint64_t> sizes) {
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

double row_limit(const TuneArguments& arguments, const SearchOptions& search) {
  if (arguments.time_limit != nullptr && arguments.time_limit->count() > 0) {
    return arguments.options.sampling.time_limit_s;
  }
  if (search.budget_s <= 0) return longest_row_s;
  const double rows = usual_candidates * static_cast<double>(search.sizes.size()) *
                      static_cast<double>(search.rounds) *
                      static_cast<double>(search.collectives.size());
  return std::clamp(search.budget_s / rows, shortest_row_s, longest_row_s);
}

SearchOptions search_options(const TuneArguments& arguments) {
  SearchOptions search;
  if (!arguments.collectives.empty()) search.collectives.clear();
  for (const std::string& text : arguments.collectives) {
    const Collective collective = parse_collective(text, "COLLECTIVE");
    const auto& known = search.collectives;
    if (std::find(known.begin(), known.end(), collective) == known.end()) {
      search.collectives.push_back(collective);
    }
  }
  search.sizes = ascending(arguments.options.sizes.empty() ? parse_sizes(default_sizes, "--sizes")
                                                           : arguments.options.sizes);
  const std::uint64_t element = size_of(arguments.options.dtype);
  require(search.sizes.front() >= element, "--sizes {}: a {} element has {} bytes",
          search.sizes.front(), name(arguments.options.dtype), element);
  require(arguments.rounds >= 1 && arguments.rounds <= 1000, "--rounds {}: expected 1 to 1000",
          arguments.rounds);
  search.rounds = static_cast<int>(arguments.rounds);
  search.budget_s = arguments.budget_s;
  search.force = arguments.force;
  search.time_limit_s = row_limit(arguments, search);
  return search;
}

/// What can be seen before anything runs.
void check_place(const RunOptions& options, bool force) {
  const LauncherEnvironment launcher = launcher_environment();
  require(launcher.size <= 1,
          "tune starts fresh processes for every candidate: run it once, outside of {}, and name "
          "the launcher with --launcher",
          launcher.kind);
  if (!options.launcher.empty() || force || options.transport == "sim") return;
  const Topology topology = discover_topology();
  require(!oversubscribed(options.ranks, topology),
          "-n/--ranks {}: only {} processors may be used, the times would be the scheduler's; use "
          "fewer ranks or --force",
          options.ranks, topology.allowed_processors);
}

// A signal handler gets no argument of its own.
std::atomic<bool> interruption_noted{false};

extern "C" void note_interruption(int) {
  interruption_noted.store(true, std::memory_order_relaxed);
}

/// Lets the run in progress end; the search stops before the next one.
void watch_for_interruption() {
  struct sigaction action {};
  action.sa_handler = note_interruption;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
}

int run_tune(TuneArguments& arguments) {
  RunOptions& options = arguments.options;
  const SearchOptions search = search_options(arguments);
  const bool ranks_given = options.ranks != 0;
  complete_run_options(options);
  for (const Collective collective : search.collectives) {
    require_tunable(options.transport, collective);
  }
  check_place(options, arguments.force);
  if (!ranks_given && !options.launcher.empty()) options.ranks = 0;  // the launcher's own number

  const auto write = [&options](const DecisionTable& table) {
    if (!options.output.empty()) write_json_atomically(options.output, to_json(table));
  };
  const auto write_nothing = [&write, &options](std::string why) {
    DecisionTable nothing;
    describe_command(options, nothing.run);
    nothing.warnings.push_back(std::move(why));
    write(nothing);
  };
  write_nothing("incomplete: nothing was measured yet");
  watch_for_interruption();
  DecisionTable so_far;
  SearchReport report;
  try {
    report = commtune::search(
        options, search, process_runner(options),
        [](const std::string& line) {
          if (interruption_noted.load(std::memory_order_relaxed)) fail(Errc::peer, "interrupted");
          fmt::print(stderr, "commtune: {}\n", line);
        },
        [&](const DecisionTable& table) { write(so_far = table); });
  } catch (const Error& error) {
    const std::string why = fmt::format("failed: {}", error.what());
    if (so_far.entries.empty()) {
      write_nothing(why);
    } else {
      so_far.warnings.push_back(why);
      write(so_far);
    }
    throw;
  }
  write(report.table);
  if (options.format == "json") {
    std::cout << to_json(report.table).dump(2) << '\n';
    return exit_ok;
  }
  std::cout << report.summary << '\n' << show(report.table);
  return exit_ok;
}

std::function<int()> add_tune(CLI::App& app, const std::vector<std::string>& argv) {
  auto arguments = std::make_shared<TuneArguments>();
  arguments->options.argv = argv;
  app.add_option("COLLECTIVE", arguments->collectives, "names from `list collectives` [allreduce]")
      ->type_name("COLLECTIVE");
  add_run_options(app, arguments->options);
  arguments->time_limit = app.get_option_no_throw("--time-limit");
  app.add_option_function<std::string>(
         "--rounds",
         [arguments](const std::string& text) {
           arguments->rounds = parse_count(text, "--rounds");
         },
         "fresh runs of every candidate [3]")
      ->type_name("N");
  app.add_option_function<std::string>(
         "--budget",
         [arguments](const std::string& text) {
           arguments->budget_s = static_cast<double>(parse_count(text, "--budget"));
         },
         "stop measuring after S seconds, 0 for no limit [0]")
      ->type_name("S");
  app.add_flag("--force", arguments->force, "tune although ranks outnumber processors");
  return [arguments] { return run_tune(*arguments); };
}

}  // namespace

extern const Command command_tune{"tune", "measure algorithms and write a decision table",
                                  add_tune};

}  // namespace commtune
