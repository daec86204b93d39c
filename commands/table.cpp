#include "tuning/table.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>

#include "commands/command.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/sizes.hpp"
#include "tuning/openmpi/emit.hpp"
#include "tuning/openmpi/lint.hpp"
#include "tuning/openmpi/prove.hpp"
#include "tuning/scratch_folder.hpp"

namespace commtune {
namespace {

using openmpi::Family;

constexpr std::array<std::string_view, 3> export_targets{"openmpi-4.1", "openmpi-5", "commtune"};
constexpr std::array<std::string_view, 4> later_targets{"openmpi-6", "mpich-4.0", "nccl", "ucc"};
constexpr double row_limit_s = 0.3;

struct TableArguments {
  std::string file, target, output, rules, profile = "safe";
  RunOptions options;
  std::uint64_t rounds = 3;
  CLI::Option* time_limit = nullptr;  ///< owned by the parser, which outlives the run
};
using Arguments = std::shared_ptr<TableArguments>;

/// "commtune" is the project's own format and has no family.
std::optional<Family> parse_target(const std::string& target) {
  for (const Family family : {Family::v4_1, Family::v5_0}) {
    if (target == name(family)) return family;
  }
  if (std::find(later_targets.begin(), later_targets.end(), target) != later_targets.end()) {
    fail(Errc::unavailable, "--target {}: not in this build; it has {}", target,
         fmt::join(export_targets, ", "));
  }
  require(target == "commtune", "--target {}: unknown; known: {}, and not in this build: {}",
          target, fmt::join(export_targets, ", "), fmt::join(later_targets, ", "));
  return std::nullopt;
}

void write_text(const std::string& path, const std::string& text) {
  if (path.empty()) {
    std::cout << text;
    return;
  }
  const std::filesystem::path temporary = path + ".part";
  {
    std::ofstream out(temporary, std::ios::binary);
    out << text;
    out.close();
    if (!out) fail(Errc::system, "-o/--output {}: cannot be written", path);
  }
  std::filesystem::rename(temporary, path);
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "warning: {}\n", warning);
}

int run_show(const TableArguments& arguments) {
  std::cout << show(read_table(arguments.file));
  return exit_ok;
}

int run_export(const TableArguments& arguments) {
  const std::optional<Family> family = parse_target(arguments.target);
  const auto profile = openmpi::parse_profile(arguments.profile, "--profile");
  if (!arguments.output.empty()) require_writable(arguments.output, "-o/--output");
  const DecisionTable table = read_table(arguments.file);
  if (!family) {
    write_text(arguments.output, to_json(table).dump(2) + "\n");
    return exit_ok;
  }
  const openmpi::Emitted emitted = openmpi::emit_rules(table, *family, profile);
  print_warnings(emitted.warnings);
  write_text(arguments.output, emitted.text);
  if (!arguments.output.empty()) {
    fmt::print(stderr,
               "commtune: use it with mpirun --mca coll_tuned_use_dynamic_rules 1 --mca "
               "coll_tuned_dynamic_rules_filename {}\n",
               std::filesystem::absolute(arguments.output).string());
  }
  return exit_ok;
}

bool looks_like_table(const std::filesystem::path& path) {
  std::ifstream in(path);
  char first = 0;
  return in >> first && first == '{';
}

int lint_table(const std::string& file) {
  try {
    const DecisionTable table = read_table(file);
    for (const std::string& warning : table.warnings) {
      std::cout << fmt::format("{}: warning: {}\n", file, warning);
    }
    std::cout << fmt::format("{}: {} entries, no errors\n", file, table.entries.size());
    return exit_ok;
  } catch (const Error& error) {
    std::cout << fmt::format("error: {}\n", error.what());
    return exit_measured_failure;
  }
}

int run_lint(const TableArguments& arguments) {
  const std::string& file = arguments.file;
  std::optional<Family> family;
  if (!arguments.target.empty()) {
    family = parse_target(arguments.target);
  } else if (!looks_like_table(file)) {
    family = Family::v4_1;
  }
  if (!family) return lint_table(file);
  std::size_t errors = 0, warnings = 0;
  for (const openmpi::Finding& finding : openmpi::lint_file(file, *family)) {
    const bool error = finding.severity == openmpi::Finding::Severity::error;
    ++(error ? errors : warnings);
    std::cout << fmt::format("{}:{}: {}: {}\n", file, finding.line, name(finding.severity),
                             finding.text);
  }
  std::cout << fmt::format("{}: {}, {} errors, {} warnings\n", file, name(*family), errors,
                           warnings);
  return errors == 0 ? exit_ok : exit_measured_failure;
}

std::vector<std::pair<Collective, int>> jobs_of(const DecisionTable& table, int ranks) {
  std::set<std::pair<Collective, int>> jobs;
  for (const TableEntry& entry : table.entries) {
    if (entry.library == "openmpi") {
      jobs.emplace(entry.collective, ranks > 0 ? ranks : entry.ranks);
    }
  }
  return {jobs.begin(), jobs.end()};
}

/// The collectives of a rules file that bench can run.
std::vector<std::pair<Collective, int>> jobs_of(const std::filesystem::path& rules, Family family,
                                                int ranks) {
  std::ifstream in(rules, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const openmpi::RulesFile file = openmpi::parse_rules(text, family);
  std::vector<std::pair<Collective, int>> jobs;
  for (const Collective collective : all_collectives()) {
    const int id = openmpi::tuned(collective).id;
    if (std::any_of(file.collectives.begin(), file.collectives.end(),
                    [&](const openmpi::CollectiveRules& each) { return each.id == id; })) {
      jobs.emplace_back(collective, ranks > 0 ? ranks : 2);
    }
  }
  return jobs;
}

int run_prove(TableArguments& arguments) {
  RunOptions& options = arguments.options;
  const int asked_ranks = options.ranks;
  const std::optional<Family> family =
      parse_target(arguments.target.empty() ? "openmpi-4.1" : arguments.target);
  require(family.has_value(), "--target commtune: nothing to prove; name a library's format");
  const auto profile = openmpi::parse_profile(arguments.profile, "--profile");
  require(arguments.file.empty() != arguments.rules.empty(),
          "prove takes either a table or --rules FILE");
  require(arguments.rounds >= 1 && arguments.rounds <= 1000, "--rounds {}: expected 1 to 1000",
          arguments.rounds);
  if (options.transport.empty()) options.transport = "mpi";
  require(options.transport == "mpi", "--transport {}: prove runs the MPI library",
          options.transport);
  complete_run_options(options);

  const ScratchFolder folder;
  std::filesystem::path rules;
  std::vector<std::pair<Collective, int>> jobs;
  if (arguments.rules.empty()) {
    const DecisionTable table = read_table(arguments.file);
    const openmpi::Emitted emitted = openmpi::emit_rules(table, *family, profile);
    print_warnings(emitted.warnings);
    rules = folder.path() / "rules.conf";
    write_text(rules.string(), emitted.text);
    jobs = jobs_of(table, asked_ranks);
  } else {
    rules = std::filesystem::absolute(arguments.rules);
    jobs = jobs_of(rules, *family, asked_ranks);
  }

  openmpi::ProofOptions proof_options;
  proof_options.rounds = static_cast<int>(arguments.rounds);
  proof_options.family = *family;
  proof_options.seed = options.seed;
  proof_options.element_bytes = size_of(options.dtype);
  const bool limited = arguments.time_limit != nullptr && arguments.time_limit->count() > 0;
  proof_options.time_limit_s = limited ? options.sampling.time_limit_s : row_limit_s;
  const openmpi::Proof proof = openmpi::prove_rules(
      rules, jobs, proof_options,
      [&options](int ranks) {
        RunOptions own = options;
        own.ranks = ranks;
        return process_runner(own);
      },
      [](const std::string& line) { fmt::print(stderr, "commtune: {}\n", line); });
  std::cout << openmpi::describe(proof);
  return proof.holds() ? exit_ok : exit_measured_failure;
}

CLI::App& add_action(CLI::App& app, const Arguments& arguments, const char* action,
                     const char* summary, bool file_required) {
  CLI::App& sub = *app.add_subcommand(action, summary);
  CLI::Option* file = sub.add_option("FILE", arguments->file, "decision table");
  file->type_name("FILE");
  if (file_required) file->required();
  return sub;
}

void add_target(CLI::App& sub, const Arguments& arguments, bool required) {
  CLI::Option* option = sub.add_option("--target", arguments->target,
                                       fmt::format("format: {}", fmt::join(export_targets, ", ")));
  option->type_name("NAME");
  if (required) option->required();
}

void add_profile(CLI::App& sub, const Arguments& arguments) {
  sub.add_option("--profile", arguments->profile,
                 "safe: order-preserving algorithms only; commutative: all [safe]")
      ->type_name("NAME");
}

void add_prove(CLI::App& app, const Arguments& arguments) {
  CLI::App& prove =
      add_action(app, arguments, "prove", "run the real library with and without the table", false);
  add_target(prove, arguments, false);
  add_profile(prove, arguments);
  prove.add_option("--rules", arguments->rules, "a rules file instead of a table")
      ->type_name("FILE");
  prove
      .add_option_function<std::string>(
          "--rounds",
          [arguments](const std::string& text) {
            arguments->rounds = parse_count(text, "--rounds");
          },
          "fresh runs of each side [3]")
      ->type_name("N");
  add_run_options(prove, arguments->options);
  arguments->time_limit = prove.get_option_no_throw("--time-limit");
}

std::function<int()> add_table(CLI::App& app, const std::vector<std::string>& argv) {
  auto arguments = std::make_shared<TableArguments>();
  arguments->options.argv = argv;
  app.require_subcommand(1);
  add_action(app, arguments, "show", "print a decision table", true);
  CLI::App& exported = add_action(app, arguments, "export", "write a library's own format", true);
  add_target(exported, arguments, true);
  add_profile(exported, arguments);
  exported.add_option("-o,--output", arguments->output, "file to write [stdout]")
      ->type_name("FILE");
  CLI::App& lint =
      add_action(app, arguments, "lint", "find what a library would ignore or do wrong", true);
  add_target(lint, arguments, false);
  add_prove(app, arguments);
  return [arguments, &app] {
    if (app.got_subcommand("show")) return run_show(*arguments);
    if (app.got_subcommand("export")) return run_export(*arguments);
    if (app.got_subcommand("lint")) return run_lint(*arguments);
    return run_prove(*arguments);
  };
}

}  // namespace

extern const Command command_table{"table", "show, export, lint and prove decision tables",
                                   add_table};

}  // namespace commtune
