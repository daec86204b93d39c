#pragma once
#include <string>
#include <sys/types.h>
#include <vector>

#include "core/descriptor.hpp"
#include "transports/monitor_file.hpp"
#include "transports/signals.hpp"

namespace commtune {

/// A launcher (mpirun and the like) with its ranks, in a process group of its own that ends when
/// this process does.
class LauncherProcess {
 public:
  /// Starts `argv` with `variables` ("NAME=value") added to the environment. Throws
  /// Error(unavailable) when the program cannot be started.
  LauncherProcess(const std::vector<std::string>& argv, const std::vector<std::string>& variables,
                  const MonitorFile& monitors, const SignalGuard& signals);
  ~LauncherProcess() { end(); }
  LauncherProcess(const LauncherProcess&) = delete;
  LauncherProcess& operator=(const LauncherProcess&) = delete;

  /// Sleeps until the launcher or a rank ends, or `seconds` pass, and looks at what happened.
  void wait(double seconds);
  bool running() const noexcept { return pid_ > 0; }
  /// Exit status, or 128 + signal; only once it has ended.
  int status() const noexcept { return status_; }
  /// The first rank that disappeared without having said why and without having been told to; -1.
  int lost_rank() const noexcept { return lost_rank_; }
  /// The signal that ended the launcher, 0 when none did or when end() had to.
  int killed_by() const noexcept { return killed_by_; }
  bool told_to_end() const noexcept { return told_to_end_; }
  /// Asks the launcher to stop, then kills whatever is left of the job.
  void end() noexcept;

 private:
  void adopt_new_ranks();
  bool all_adopted() const noexcept;
  void look_at(std::size_t rank);
  bool reap(int options) noexcept;

  const MonitorFile& monitors_;
  const SignalGuard& signals_;
  pid_t pid_ = -1, group_ = -1;
  int status_ = 0, lost_rank_ = -1, killed_by_ = 0;
  bool told_to_end_ = false;
  Descriptor deaths_;                  ///< epoll: reports processes in the order of their end
  std::vector<Descriptor> processes_;  ///< of every rank seen so far
  std::vector<bool> gone_;
};

}  // namespace commtune
