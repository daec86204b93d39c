#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

#include "core/error.hpp"
#include "program.hpp"

namespace commtune {
namespace {

struct BadInput {
  std::vector<std::string> arguments;
  std::string named;  ///< the option that stderr must name
};

std::vector<BadInput> bad_inputs() {
  std::vector<BadInput> inputs;
  for (const char* size : {"2X", "1MM", "-5", "nan", "inf", "1e4", "1e400", "8:4", "", "8:", "0:8",
                           "8:64:x1", "1,,2", "99999999999999999999"}) {
    inputs.push_back({{"allreduce", "--sizes", size}, "--sizes"});
  }
  for (const char* count : {"0", "-1", "nan", "1.5", "1e3", "", "two", "99999999999"}) {
    inputs.push_back({{"allreduce", "-n", count}, "--ranks"});
    inputs.push_back({{"allreduce", "--iterations", count}, "--iterations"});
  }
  inputs.pop_back();  // that many iterations are legal
  for (const char* number : {"0", "-1", "nan", "inf", "1e3", "", "."}) {
    for (const char* option : {"--timeout", "--time-limit", "--precision", "--confidence"}) {
      inputs.push_back({{"allreduce", option, number}, option});
    }
  }
  for (const char* option : {"--dtype", "--op", "--transport", "--format", "--algorithm",
                             "--device", "--mpi", "--root"}) {
    for (const char* name : {"flaot", "", "Sum", "float32 "}) {
      inputs.push_back({{"allreduce", option, name}, option});
    }
  }
  inputs.push_back({{"allreduce", "--algorithm", "ring,"}, "--algorithm"});
  inputs.push_back({{"allreduce", "--algorithm", "binomial"}, "--algorithm"});
  inputs.push_back({{"allreduce", "--confidence", "1"}, "--confidence"});
  inputs.push_back({{"broadcast", "--root", "2"}, "--root"});
  inputs.push_back({{"broadcast", "--root", "-1"}, "--root"});
  inputs.push_back({{"allreduce", "--check", "-1"}, "--check"});
  inputs.push_back({{"allreduce", "--seed", "x"}, "--seed"});
  inputs.push_back({{"allreduce", "--warmup", "x"}, "--warmup"});
  inputs.push_back({{"allreduce", "--sizes", "9223372036854775808"}, "--sizes"});
  inputs.push_back({{"allreduce", "-o", "/nonexistent/r.json"}, "-o"});
  inputs.push_back({{"allreduce", "--samples", "/nonexistent/s.jsonl"}, "--samples"});
  inputs.push_back({{"allreduce", "--table", "/nonexistent/t.json"}, "/nonexistent/t.json"});
  inputs.push_back({{"alreduce"}, "alreduce"});
  inputs.push_back({{"allreduce", "--no-such-option"}, "--no-such-option"});
  inputs.push_back({{"allreduce", "--sizes"}, "--sizes"});
  inputs.push_back({{"allreduce", "--sizes", "8", "--sizes", "16"}, "--sizes"});
  inputs.push_back({{}, "TEST"});
  inputs.push_back({{"latency", "-n", "1"}, "--ranks"});
  return inputs;
}

TEST(BadInput, ends_with_2_names_the_option_and_runs_nothing) {
  const TemporaryFolder folder;
  for (const BadInput& input : bad_inputs()) {
    const std::string result = folder.file("result.json");
    std::vector<std::string> arguments{"bench"};
    arguments.insert(arguments.end(), input.arguments.begin(), input.arguments.end());
    const bool own_output = input.named == "-o";
    if (!own_output) arguments.insert(arguments.end(), {"-o", result});
    const ProcessResult run = commtune_program(arguments);
    const std::string words = fmt::format("{}", fmt::join(arguments, " | "));
    EXPECT_EQ(run.status, exit_usage) << words << '\n' << run.err;
    EXPECT_EQ(run.out, "") << words;
    EXPECT_NE(run.err.find(input.named), std::string::npos) << words << '\n' << run.err;
    EXPECT_EQ(run.err.rfind("commtune: ", 0), 0U) << words << '\n' << run.err;
    EXPECT_FALSE(std::filesystem::exists(result)) << words;
  }
}

TEST(BadInput, unknown_names_come_with_the_valid_ones) {
  const std::map<std::string, std::vector<std::string>> valid{
      {"--dtype", {"float32", "bfloat16", "int8"}},
      {"--op", {"sum", "avg"}},
      {"--transport", {"shm", "threads", "mpi"}},
      {"--format", {"table", "osu", "csv", "json"}},
      {"--algorithm", {"ring", "native", "auto", "all"}},
      {"--device", {"host", "cuda"}}};
  for (const auto& [option, names] : valid) {
    const ProcessResult run = commtune_program({"bench", "allreduce", option, "flaot"});
    for (const std::string& name : names) {
      EXPECT_NE(run.err.find(name), std::string::npos) << option << ": " << run.err;
    }
  }
  EXPECT_NE(commtune_program({"bench", "flaot"}).err.find("allreduce"), std::string::npos);
  const ProcessResult command = commtune_program({"bnech"});
  EXPECT_EQ(command.status, exit_usage);
  EXPECT_EQ(command.out, "");
  EXPECT_NE(command.err.find("bench"), std::string::npos);
}

TEST(OtherBuilds, what_this_build_lacks_ends_with_3) {
  const std::vector<std::vector<std::string>> missing{
      {"--device", "cuda"},
      {"--transport", "nccl"},
      {"--plugin", "none.so"},
      {"--mpi", "./none", "--transport", "mpi"},
      {"--algorithm", "native", "--transport", "shm"}};
  for (const auto& options : missing) {
    std::vector<std::string> arguments{"bench", "allreduce", "--sizes", "8"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const ProcessResult run = commtune_program(arguments);
    EXPECT_EQ(run.status, exit_unavailable) << options[0] << ' ' << options[1] << '\n' << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find(options[0]), std::string::npos) << run.err;
  }
}

struct Help {
  std::set<std::string> flags, with_value, subcommands;
};

Help read_help(const std::string& text) {
  Help help;
  std::istringstream lines(text);
  std::string line, section;
  while (std::getline(lines, line)) {
    if (!line.empty() && line[0] != ' ') section = line;
    if (line.rfind("  ", 0) != 0 || line[2] == ' ') continue;
    std::istringstream words(line);
    std::string names, type;
    words >> names;
    if (section.rfind("Subcommands", 0) == 0) help.subcommands.insert(names);
    if (names[0] != '-') continue;
    const std::size_t column = line.find(names) + names.size();
    // A value's type follows its option after a single space, the description after several.
    const bool value = line.size() > column + 1 && line[column + 1] != ' ';
    std::istringstream each(names);
    std::string name;
    while (std::getline(each, name, ',')) (value ? help.with_value : help.flags).insert(name);
  }
  return help;
}

void feed_options(std::vector<std::string> path, std::size_t& fed) {
  const std::map<std::string, std::string> values{
      {"--ranks", "2"},        {"-n", "2"},          {"--sizes", "8"},
      {"--dtype", "float32"},  {"--op", "sum"},      {"--algorithm", "ring"},
      {"--transport", "shm"},  {"--device", "host"}, {"--format", "table"},
      {"--confidence", "0.9"}, {"--mpi", "openmpi"}, {"--export", "text"}};
  std::vector<std::string> ask = path;
  ask.emplace_back("--help");
  const ProcessResult shown = commtune_program(ask);
  ASSERT_EQ(shown.status, 0) << shown.err;
  ASSERT_EQ(shown.err, "");
  const Help help = read_help(shown.out);
  for (const std::string& subcommand : help.subcommands) {
    std::vector<std::string> deeper = path;
    deeper.push_back(subcommand);
    feed_options(deeper, fed);
  }
  if (path.empty()) return;
  std::set<std::string> all = help.flags;
  all.insert(help.with_value.begin(), help.with_value.end());
  for (const std::string& option : all) {
    if (option == "--help" || option == "-h") continue;
    std::vector<std::string> arguments = path;
    // An object that does not exist ends the command after parsing.
    if (path.front() != "info") arguments.emplace_back("no-such-object");
    arguments.push_back(option);
    if (help.with_value.count(option) != 0) {
      const auto value = values.find(option);
      arguments.push_back(value == values.end() ? "1" : value->second);
    }
    const ProcessResult run = commtune_program(arguments);
    EXPECT_EQ(run.err.find("unknown argument"), std::string::npos)
        << fmt::format("{}: {}", fmt::join(arguments, " "), run.err);
    ++fed;
  }
}

TEST(Help, every_option_it_shows_is_accepted) {
  std::size_t fed = 0;
  feed_options({}, fed);
  EXPECT_GT(fed, 50U);
}

TEST(Help, the_option_reader_sees_values_flags_and_subcommands) {
  const Help help = read_help(
      "Usage: x\n\nOptions:\n  -n,--ranks N   ranks\n  --cold          caches\n\nSubcommands:\n  "
      "bench           run\n");
  EXPECT_EQ(help.with_value, (std::set<std::string>{"-n", "--ranks"}));
  EXPECT_EQ(help.flags, (std::set<std::string>{"--cold"}));
  EXPECT_EQ(help.subcommands, (std::set<std::string>{"bench"}));
}

TEST(Version, is_told_on_stdout) {
  const ProcessResult run = commtune_program({"--version"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out.rfind("commtune ", 0), 0U);
}

}  // namespace
}  // namespace commtune
