#pragma once
#include <array>
#include <csignal>
#include <poll.h>
#include <span>

#include "transports/monitor.hpp"

namespace commtune {

/// While it lives, SIGINT and SIGTERM are noted instead of ending this process, and SIGCHLD wakes
/// wait(). One at a time per process; restores the earlier handlers.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
  /// Sleeps until a child changes state, a signal arrives, one of `files` is ready or the time is
  /// over.
  void wait(double seconds, std::span<pollfd> files = {}) const;
  bool interrupted() const noexcept;
  /// For a forked child: gives it the handlers and the mask from before the guard.
  void restore() const noexcept;

 private:
  static constexpr std::array watched{SIGINT, SIGTERM, SIGCHLD};
  std::array<struct sigaction, watched.size()> before_{};
  sigset_t mask_{};
};

/// Makes SIGTERM mark `slot` as terminated, so that the ranks that a launcher takes down can be
/// told from the one that died by itself; with `then_exit` the process ends with status 143 at
/// once.
void mark_termination(MonitorSlot& slot, bool then_exit);
/// Gives SIGTERM its default meaning back.
void forget_termination();

}  // namespace commtune
