#include "collectives/schedule/export.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>

#include "collectives/exchange/export_formats.hpp"
#include "collectives/schedule/params.hpp"
#include "collectives/schedule/verify.hpp"
#include "commands/command.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/sizes.hpp"

namespace commtune {
namespace {

constexpr int most_ranks = 4096;

struct ExportArguments {
  std::string what, format = "text", output;
  Shape shape{.rank = 0, .size = 4, .root = 0, .in_place = false};
  AlgorithmSpec knobs;  ///< without a name
  std::uint64_t bytes = 1 << 20;
};

using Schedules = std::vector<Schedule>;

/// What a form writes.
struct Exported {
  const ExportArguments& arguments;
  const Algorithm& algorithm;
  const Schedules& schedules;  ///< one per rank
  std::string title;           ///< the algorithm with its parameters
};

std::string text_form(const Exported& exported) {
  const Schedules& all = exported.schedules;
  std::string text = fmt::format("{}, {} ranks\n", exported.title, all.size());
  for (std::size_t r = 0; r < all.size(); ++r) text += to_text(all[r], static_cast<Rank>(r));
  return text;
}
std::string graphviz_form(const Exported& exported) {
  return to_graphviz(exported.schedules,
                     fmt::format("{}, {} ranks", exported.title, exported.schedules.size()));
}
std::string goal_form(const Exported& exported) {
  return to_goal(exported.schedules, exported.algorithm.collective,
                 GoalCosts{.part_bytes = exported.arguments.bytes});
}
std::string msccl_form(const Exported& exported) {
  // Unlike the algorithm, the program serves one number of ranks.
  const std::string name =
      fmt::format("{}_{}ranks", exported.algorithm.name, exported.schedules.size());
  return to_msccl(exported.schedules, exported.algorithm.collective,
                  exported.arguments.shape.in_place, name);
}

struct Form {
  std::string_view name;
  std::string (*write)(const Exported&);
};
constexpr std::array<Form, 4> forms{
    {{"text", text_form}, {"graphviz", graphviz_form}, {"goal", goal_form}, {"msccl", msccl_form}}};

const Form& find_form(const std::string& name) {
  std::string names;
  for (const Form& form : forms) {
    if (form.name == name) return form;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", form.name);
  }
  fail(Errc::usage, "--format '{}': unknown format; valid: {}", name, names);
}

int run_export(const ExportArguments& arguments) {
  const Form& form = find_form(arguments.format);
  const std::size_t slash = arguments.what.find('/');
  require(slash != std::string::npos, "COLLECTIVE/ALGORITHM '{}': a name such as allreduce/ring",
          arguments.what);
  AlgorithmSpec spec =
      parse_algorithm_spec(arguments.what.substr(slash + 1), "COLLECTIVE/ALGORITHM");
  const Algorithm& algorithm =
      find_algorithm(parse_collective(arguments.what.substr(0, slash), "COLLECTIVE/ALGORITHM"),
                     spec.name, "COLLECTIVE/ALGORITHM");
  for (const auto& knob : arguments.knobs.knobs) {
    require(std::none_of(spec.knobs.begin(), spec.knobs.end(),
                         [&](const auto& had) { return had.first == knob.first; }),
            "--{}: '{}' gives it too", knob.first, arguments.what);
    spec.knobs.push_back(knob);
  }
  const Shape& shape = arguments.shape;
  require(shape.root < shape.size, "--root {}: with {} ranks it must be below {}", shape.root,
          shape.size, shape.size);
  if (!arguments.output.empty()) require_writable(arguments.output, "-o/--output");
  const Params params = params_of(spec, algorithm, arguments.what);
  const Schedules schedules = generate_all(algorithm, shape, params);
  const std::string title = fmt::format("{}/{}{}", name(algorithm.collective), algorithm.name,
                                        describe(params, algorithm.tunables));
  const std::string text = form.write({arguments, algorithm, schedules, title});
  if (arguments.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return exit_ok;
  }
  std::ofstream file(arguments.output, std::ios::binary);
  file << text << std::flush;
  if (!file) fail(Errc::system, "-o/--output {}: cannot be written", arguments.output);
  return exit_ok;
}

/// An option whose value is a whole number in [lowest, highest].
template <class Number>
void add_number(CLI::App& app, const std::string& option, const std::string& help, Number& into,
                std::uint64_t lowest, std::uint64_t highest) {
  app.add_option_function<std::string>(
         option,
         [option, &into, lowest, highest](const std::string& text) {
           const std::uint64_t value = parse_count(text, option);
           require(value >= lowest && value <= highest, "{} '{}': must be between {} and {}",
                   option, text, lowest, highest);
           into = static_cast<Number>(value);
         },
         help)
      ->type_name("N");
}

std::function<int()> add_export(CLI::App& app, const std::vector<std::string>&) {
  auto arguments = std::make_shared<ExportArguments>();
  add_algorithm_options(app);
  app.add_option("COLLECTIVE/ALGORITHM", arguments->what,
                 "a name from `list algorithms`, parameters as in ring:segments=4")
      ->required()
      ->type_name("");
  add_number(app, "--ranks", "number of ranks [4]", arguments->shape.size, 1, most_ranks);
  add_number(app, "--root", "root rank of rooted collectives [0]", arguments->shape.root, 0,
             most_ranks - 1);
  app.add_flag("--in-place", arguments->shape.in_place, "input and output share their memory");
  const auto add_knob = [&app, arguments](const std::string& knob, const std::string& help) {
    app.add_option_function<std::string>(
           "--" + knob,
           [arguments, knob](const std::string& value) {
             arguments->knobs.knobs.emplace_back(knob, value);
           },
           help)
        ->type_name(knob == "intra" || knob == "inter" ? "NAME" : "N");
  };
  add_knob("segments", "pieces that a rank's data is cut in [1]");
  add_knob("radix", "of trees and exchanges [2]");
  add_knob("channels", "rings or trees side by side [1]");
  add_knob("leaders", "ranks of a group that talk to others [1]");
  add_knob("group", "ranks of a group [2]");
  add_knob("cluster", "groups of an outer group [0: one level]");
  add_knob("intra", "algorithm inside groups");
  add_knob("inter", "algorithm between groups");
  app.add_option("--format", arguments->format,
                 "text, graphviz, goal (LogGOPSim), msccl (MSCCL XML) [text]")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--bytes",
         [arguments](const std::string& text) { arguments->bytes = parse_size(text, "--bytes"); },
         "goal: of the vector, or of one part where each rank has one [1M]")
      ->type_name("SIZE");
  app.add_option("-o,--output", arguments->output, "file to write [standard output]")
      ->type_name("FILE");
  return [arguments] { return run_export(*arguments); };
}

}  // namespace

extern const Command command_export{"export", "write an algorithm's programs for other tools",
                                    add_export};

}  // namespace commtune
