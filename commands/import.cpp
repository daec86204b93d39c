#include <filesystem>
#include <iostream>
#include <memory>

#include "commands/command.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/sizes.hpp"
#include "dnn_proxy/importers/importer.hpp"
#include "dnn_proxy/replay.hpp"

namespace commtune {
namespace {

struct ImportArguments {
  std::string trace, output, skip, steps;
};

int run_import(const ImportArguments& arguments) {
  require_writable(arguments.output, "-o");
  Import result = import_trace(arguments.trace);
  std::cout << result.conservation.text();
  Workload workload = std::move(result.workload);
  if (!arguments.skip.empty() || !arguments.steps.empty()) {
    const std::uint64_t skip =
        arguments.skip.empty() ? 0 : parse_count(arguments.skip, "--skip-steps");
    const std::uint64_t have = count_steps(workload.programs.front());
    const std::uint64_t steps = arguments.steps.empty() ? have - std::min(have, skip)
                                                        : parse_count(arguments.steps, "--steps");
    require(steps > 0, "--steps/--skip-steps: no step of {} is left", have);
    workload = select_steps(workload, skip, steps);
    workload.notes.push_back(
        fmt::format("{} of the {} recorded steps, after skipping {}", steps, have, skip));
  }
  for (const std::string& note : workload.notes) std::cout << "# note: " << note << '\n';
  std::cout << describe_steps(workload);
  write_workload(arguments.output, workload);
  return exit_ok;
}

std::function<int()> add_import(CLI::App& app, const std::vector<std::string>& /*argv*/) {
  auto arguments = std::make_shared<ImportArguments>();
  std::string formats;
  for (const Importer* importer : importers())
    formats += fmt::format("\n  {}: {}", importer->name, importer->summary);
  app.footer("Formats, recognised by content:" + formats);
  app.add_option("TRACE", arguments->trace, "trace file or directory")
      ->required()
      ->type_name("TRACE");
  app.add_option("-o,--output", arguments->output, "workload file to write")
      ->required()
      ->type_name("FILE");
  app.add_option("--steps", arguments->steps, "keep this many steps [all]")->type_name("N");
  app.add_option("--skip-steps", arguments->skip, "leave out the first steps [0]")->type_name("N");
  return [arguments] { return run_import(*arguments); };
}

}  // namespace

extern const Command command_import{
    "import", "turn a trace of another tool into a workload file, with a conservation report",
    add_import};

}  // namespace commtune
