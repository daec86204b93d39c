#include "collectives/schedule/export.hpp"

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>

#include "collectives/exchange/export_formats.hpp"
#include "collectives/schedule/verify.hpp"
#include "commands/command.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/sizes.hpp"

namespace commtune {
namespace {

constexpr int most_ranks = 4096;

struct ExportArguments {
  std::string what, format = "text", output, intra, inter;
  Shape shape{.rank = 0, .size = 4, .root = 0, .in_place = false};
  Params params;
  std::uint64_t bytes = 1 << 20;
};

using Schedules = std::vector<Schedule>;

std::string text_form(const ExportArguments& arguments, const Algorithm&, const Schedules& all) {
  std::string text = fmt::format("{}, {} ranks\n", arguments.what, all.size());
  for (std::size_t r = 0; r < all.size(); ++r) text += to_text(all[r], static_cast<Rank>(r));
  return text;
}
std::string graphviz_form(const ExportArguments& arguments, const Algorithm&,
                          const Schedules& all) {
  return to_graphviz(all, fmt::format("{}, {} ranks", arguments.what, all.size()));
}
std::string goal_form(const ExportArguments& arguments, const Algorithm& algorithm,
                      const Schedules& all) {
  return to_goal(all, algorithm.collective, GoalCosts{.part_bytes = arguments.bytes});
}
std::string msccl_form(const ExportArguments& arguments, const Algorithm& algorithm,
                       const Schedules& all) {
  // Unlike the algorithm, the program serves one number of ranks.
  const std::string name = fmt::format("{}_{}ranks", algorithm.name, all.size());
  return to_msccl(all, algorithm.collective, arguments.shape.in_place, name);
}

struct Form {
  std::string_view name;
  std::string (*write)(const ExportArguments&, const Algorithm&, const Schedules&);
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
  const Algorithm& algorithm =
      find_algorithm(parse_collective(arguments.what.substr(0, slash), "COLLECTIVE/ALGORITHM"),
                     arguments.what.substr(slash + 1), "COLLECTIVE/ALGORITHM");
  const Shape& shape = arguments.shape;
  require(shape.root < shape.size, "--root {}: with {} ranks it must be below {}", shape.root,
          shape.size, shape.size);
  if (!arguments.output.empty()) require_writable(arguments.output, "-o/--output");
  Params params = arguments.params;
  params.intra = arguments.intra;
  params.inter = arguments.inter;
  const Schedules schedules = generate_all(algorithm, shape, params);
  const std::string text = form.write(arguments, algorithm, schedules);
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
  app.add_option("COLLECTIVE/ALGORITHM", arguments->what, "a name from `list algorithms`")
      ->required()
      ->type_name("");
  add_number(app, "--ranks", "number of ranks [4]", arguments->shape.size, 1, most_ranks);
  add_number(app, "--root", "root rank of rooted collectives [0]", arguments->shape.root, 0,
             most_ranks - 1);
  app.add_flag("--in-place", arguments->shape.in_place, "input and output share their memory");
  constexpr std::uint64_t most = 4096;
  Params& params = arguments->params;
  add_number(app, "--segments", "pieces that a rank's data is cut in [1]", params.segments, 1,
             most);
  add_number(app, "--radix", "of trees and exchanges [2]", params.radix, 2, most);
  add_number(app, "--channels", "rings or trees side by side [1]", params.channels, 1, most);
  add_number(app, "--leaders", "ranks of a group that talk to others [1]", params.leaders, 1, most);
  add_number(app, "--group", "ranks of a group [2]", params.group, 1, most);
  add_number(app, "--cluster", "groups of an outer group [0: one level]", params.cluster, 0, most);
  app.add_option("--intra", arguments->intra, "algorithm inside groups")->type_name("NAME");
  app.add_option("--inter", arguments->inter, "algorithm between groups")->type_name("NAME");
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
