#include "dnn_proxy/replay.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "commands/command.hpp"
#include "commands/recorded_job.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/sizes.hpp"
#include "harness/record.hpp"

namespace commtune {
namespace {

struct ReplayArguments {
  std::string workload, steps, compute = "1", timeline;
  ReplayOptions options;
};

double parse_scale(const std::string& text) {
  const bool plain = !text.empty() && text.size() <= 32 && text != "." &&
                     text.find_first_not_of("0123456789.") == std::string::npos &&
                     std::count(text.begin(), text.end(), '.') <= 1;
  require(plain, "--compute '{}': expected a factor such as 1 or 0.5", text);
  return std::strtod(text.c_str(), nullptr);
}

/// Says on rank 0, and in the record, which options a replay does not look at.
void note_options_without_effect(RunOptions& options) {
  for (const std::string_view option : {"--sizes", "--dtype", "--op", "--root", "--in-place",
                                        "--cold", "--iterations", "--time-limit", "--samples"}) {
    const bool given =
        std::any_of(options.argv.begin(), options.argv.end(), [&](const std::string& word) {
          return word == option || word.rfind(std::string(option) + "=", 0) == 0;
        });
    if (!given) continue;
    options.warnings.push_back(
        fmt::format("{} has no effect on replay, the workload decides", option));
    if (launcher_environment().rank == 0) {
      fmt::print(stderr, "commtune: {}\n", options.warnings.back());
    }
  }
}

int run_replay(ReplayArguments& arguments) {
  ReplayOptions& options = arguments.options;
  options.compute_scale = parse_scale(arguments.compute);
  if (!arguments.steps.empty()) {
    options.steps = parse_count(arguments.steps, "--steps");
    require(*options.steps >= 1, "--steps '{}': must be at least 1", arguments.steps);
  }
  options.timeline = arguments.timeline;
  complete_run_options(options.run);
  require(options.run.table.empty(),
          "--table {}: replay does not read tables yet; name algorithms with --algorithm",
          options.run.table.string());
  if (!options.timeline.empty()) require_writable(options.timeline, "--timeline");
  const Workload workload = load_workload(arguments.workload);
  check_replayable(workload, options.run.ranks);
  choose_algorithms(make_plan(workload, 0, {}), options.run.algorithms, options.run.ranks, {});
  note_options_without_effect(options.run);
  return run_recorded_job(options.run,
                          [&](Job& job) { return replay(job, workload, options, std::cout); });
}

std::function<int()> add_replay(CLI::App& app, const std::vector<std::string>& argv) {
  auto arguments = std::make_shared<ReplayArguments>();
  arguments->options.run.argv = argv;
  app.add_option("WORKLOAD", arguments->workload,
                 "workload file, trace file or directory of traces")
      ->required()
      ->type_name("WORKLOAD");
  app.add_option("--steps", arguments->steps, "steps to replay, cycling [those of the workload]")
      ->type_name("N");
  app.add_option("--compute", arguments->compute,
                 "scale of the recorded compute, 0 for communication only [1]")
      ->type_name("X");
  app.add_flag("--gaps", arguments->options.gaps,
               "replay the recording's idle time as compute [dropped]");
  app.add_option("--timeline", arguments->timeline,
                 "write a timeline for chrome://tracing or Perfetto")
      ->type_name("FILE");
  add_run_options(app, arguments->options.run);
  return [arguments] { return run_replay(*arguments); };
}

}  // namespace

extern const Command command_replay{
    "replay", "replay a workload or trace: real compute, real collectives", add_replay};

}  // namespace commtune
