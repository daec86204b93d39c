#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "commands/command.hpp"
#include "core/error.hpp"
#include "core/standard_output.hpp"
#include "harness/allocator.hpp"
#include "transports/job.hpp"

namespace {

using commtune::Command;

/// One process of a job speaks for all that were started with the same command: rank 0, and under
/// Open MPI the first rank of every part of an MPMD command line.
bool speaks() {
  const commtune::LauncherEnvironment launcher = commtune::launcher_environment();
  if (launcher.rank == 0) return true;
  const char* sizes = std::getenv("OMPI_APP_CTX_NUM_PROCS");
  if (sizes == nullptr) return false;
  std::istringstream parts(sizes);
  int first = 0, size = 0;
  while (parts >> size) {
    if (launcher.rank == first) return true;
    first += size;
  }
  return false;
}

int complain(const std::string& message, int status) {
  if (speaks()) fmt::print(stderr, "commtune: {}\n", message);
  return status;
}

std::string command_names() {
  std::string names;
  for (const Command* command : commtune::commands()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", command->name);
  }
  return names;
}

bool is_command(const std::string& word) {
  for (const Command* command : commtune::commands()) {
    if (command->name == word) return true;
  }
  return false;
}

/// The message of a parse error, beginning with the argument it is about.
std::string describe(const CLI::ParseError& error, const CLI::App& app) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const auto extras = app.remaining(true);
    if (!extras.empty()) return fmt::format("{}: unknown argument; see --help", extras.front());
  }
  return error.what();
}

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (argc > 1 && argv[1][0] != '-' && !is_command(words[1])) {
    return complain(fmt::format("{}: unknown command; valid: {}", words[1], command_names()),
                    commtune::exit_usage);
  }
  CLI::App app(
      "Benchmarks, replays and tunes the communication runtimes of distributed deep "
      "learning.",
      "commtune");
  app.set_version_flag("--version", "commtune " COMMTUNE_VERSION);
  app.require_subcommand(1);
  std::function<int()> chosen;
  for (const Command* command : commtune::commands()) {
    CLI::App& sub = *app.add_subcommand(std::string(command->name), std::string(command->summary));
    sub.get_formatter()->column_width(34);
    auto action = command->add(sub, words);
    sub.final_callback([&chosen, action = std::move(action)] { chosen = action; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {
    return speaks() ? app.exit(request) : 0;
  } catch (const CLI::ParseError& error) {
    return complain(describe(error, app), commtune::exit_usage);
  }
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  commtune::keep_freed_memory();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write, with a message
  try {
    const int status = run(argc, argv);
    commtune::flush_standard_output();
    return status;
  } catch (const commtune::Error& error) {
    return complain(error.what(), commtune::exit_status(error.code()));
  } catch (const std::bad_alloc&) {
    return complain("out of memory; ask for fewer ranks, smaller sizes or fewer algorithms at once",
                    commtune::exit_unavailable);
  } catch (const std::exception& error) {
    return complain(error.what(), commtune::exit_unavailable);
  }
}
