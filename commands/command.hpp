#pragma once
#include <CLI/App.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/options.hpp"

namespace commtune {

/// One subcommand of the program; the file is commands/<name>.cpp and the list is in
/// commands/registry.cpp. `add` declares the options on its own CLI11 subcommand and returns what
/// to run once parsing has succeeded; that returns the exit status. State shared between options
/// and run is owned by the returned function. Errors leave by exception.
struct Command {
  std::string_view name, summary;
  std::function<int()> (*add)(CLI::App& app, const std::vector<std::string>& argv);
};
std::span<const Command* const> commands() noexcept;

/// Declares --plugin and --schedule, which add algorithms while the command line is parsed.
/// Declared before options whose values may name these algorithms: options are parsed in that
/// order.
void add_algorithm_options(CLI::App& app);

/// Declares the options that bench, replay and tune share (interface: docs/measuring.md) and fills
/// `options` while parsing; bad values throw Error(usage) that starts with the option's name.
void add_run_options(CLI::App& app, RunOptions& options);

/// Checks what only makes sense together (transport, device, root against ranks) and fills the
/// defaults that depend on the environment. Call first thing in a run function.
void complete_run_options(RunOptions& options);

}  // namespace commtune
