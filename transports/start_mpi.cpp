#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <unistd.h>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "transports/launch.hpp"
#include "transports/launcher_process.hpp"
#include "transports/mpi_choice.hpp"
#include "transports/processors.hpp"
#include "transports/watchdog.hpp"

namespace commtune {

namespace {

std::string found_launcher(const MpiChoice& choice) {
  if (choice.launcher.empty()) {
    fail(Errc::unavailable, "no mpirun of {} found; install it or give --launcher", choice.flavour);
  }
  return choice.launcher;
}

/// Whether the launcher lets the other ranks run on when one dies, so that ending them is ours.
bool leaves_ranks_alone(const LaunchOptions& options, const MpiChoice& choice) {
  return options.launcher.empty() && choice.flavour == "mpich";
}

std::vector<std::string> launcher_command(const LaunchOptions& options, const MpiChoice& choice) {
  std::vector<std::string> command;
  std::istringstream words(options.launcher);
  for (std::string word; words >> word;) command.push_back(word);
  if (command.empty()) {
    command.push_back(found_launcher(choice));
    // Hydra would kill all ranks when one dies, and which one was first is hard to tell.
    if (leaves_ranks_alone(options, choice)) command.emplace_back("-disable-auto-cleanup");
  }
  const bool counted = std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return word == "-n" || word == "-np" || word == "--ntasks" || word.rfind("--ntasks=", 0) == 0;
  });
  if (!counted) command.insert(command.end(), {"-n", std::to_string(options.ranks)});
  command.push_back(self_path());
  command.insert(command.end(), options.argv.begin() + 1, options.argv.end());
  return command;
}

std::vector<std::string> launcher_variables(const LaunchOptions& options,
                                            const MonitorFile& monitors) {
  std::vector<std::string> variables{
      fmt::format("{}={}", MonitorFile::variable, monitors.address())};
  if (geteuid() == 0) {
    variables.emplace_back("OMPI_ALLOW_RUN_AS_ROOT=1");
    variables.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  }
  if (static_cast<std::size_t>(options.ranks) > usable_processors().size()) {
    variables.emplace_back("OMPI_MCA_rmaps_base_oversubscribe=1");                   // Open MPI 4
    variables.emplace_back("PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe");  // Open MPI 5
  }
  return variables;
}

/// The first rank, by number, that reported a failure of its own.
int failed_rank(std::span<const MonitorSlot> slots) {
  for (std::size_t rank = 0; rank < slots.size(); ++rank) {
    if (slots[rank].phase.load(std::memory_order_acquire) == Phase::failed) {
      return static_cast<int>(rank);
    }
  }
  return -1;
}

Outcome judge(const LauncherProcess& launcher, const std::string& program, int first_failed,
              std::span<const MonitorSlot> slots) {
  constexpr int signal_base = 128, signal_end = 192;
  const int status = launcher.status();
  if (first_failed < 0) first_failed = failed_rank(slots);
  if (first_failed >= 0) {
    const MonitorSlot& slot = slots[static_cast<std::size_t>(first_failed)];
    const int own = std::max(slot.status.load(std::memory_order_acquire), 1);
    return {own, failure_reason({first_failed, own, slot.message, true}, slots)};
  }
  if (launcher.killed_by() != 0) {  // and its ranks with it
    return {exit_rank_lost, fmt::format("{} was killed by signal {}, rank 0 was in {}", program,
                                        launcher.killed_by(), slots.front().where())};
  }
  if (launcher.lost_rank() >= 0) {
    const std::string end =
        launcher.told_to_end() ? "disappeared"
        : status > signal_base && status < signal_end
            ? fmt::format("was killed by signal {}", status - signal_base)
            : fmt::format("disappeared ({} ended with status {})", program, status);
    return {exit_rank_lost,
            fmt::format("rank {} {} in {}", launcher.lost_rank(), end,
                        slots[static_cast<std::size_t>(launcher.lost_rank())].where())};
  }
  for (std::size_t rank = 0; rank < slots.size(); ++rank) {
    const int own = slots[rank].status.load(std::memory_order_acquire);
    if (own > 0) return {own, fmt::format("rank {} ended with status {}", rank, own)};
  }
  const bool started = std::any_of(slots.begin(), slots.end(),
                                   [](const MonitorSlot& slot) { return slot.pid.load() != 0; });
  if (!started) {
    return {exit_unavailable,
            fmt::format("{} ended with status {} before any rank started", program, status)};
  }
  if (status == 0) return {};
  return {exit_rank_lost, fmt::format("{} ended with status {}", program, status)};
}

}  // namespace

Outcome start_mpi_job(const LaunchOptions& options) {
  require(!options.argv.empty(),
          "the mpi transport needs this program's command line to start it "
          "under a launcher");
  const MpiChoice choice = choose_mpi(options.mpi, {});
  std::fflush(nullptr);
  const MonitorFile monitors(options.ranks);
  const std::vector<std::string> command = launcher_command(options, choice);
  const SignalGuard signals;
  LauncherProcess launcher(command, launcher_variables(options, monitors), monitors, signals);
  Watchdog watchdog(monitors.slots(), options.timeout_s);
  int first_failed = -1;
  std::int64_t failed_at = 0;
  while (launcher.running()) {
    launcher.wait(0.2);
    if (signals.interrupted()) return {exit_rank_lost, "interrupted"};
    if (first_failed < 0) first_failed = failed_rank(monitors.slots());
    if (first_failed >= 0 || launcher.lost_rank() >= 0) {
      if (failed_at == 0) failed_at = monotonic_ns();
      const bool waits = launcher.lost_rank() < 0 || !leaves_ranks_alone(options, choice);
      const double launcher_grace_s = waits ? 4 : 0;  // it tells its ranks itself
      if (static_cast<double>(monotonic_ns() - failed_at) * 1e-9 > launcher_grace_s) launcher.end();
    } else if (watchdog.expired()) {
      std::fputs(watchdog.table().c_str(), stderr);
      return {exit_rank_lost, watchdog.reason()};
    }
  }
  return judge(launcher, command.front(), first_failed, monitors.slots());
}

}  // namespace commtune
