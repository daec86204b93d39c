#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transports/monitor.hpp"

namespace commtune {

/// Whether the text of a process's /proc/PID/stat says that it was halted by SIGSTOP or a debugger.
bool halted_by_stat(std::string_view stat);

/// Looks at the ranks' signs of life from outside.
class Watchdog {
 public:
  Watchdog(std::span<const MonitorSlot> slots, double timeout_s);
  /// Reads all slots. True when no rank that is still at work has beaten for the time limit.
  bool expired();
  /// One line per rank: rank, pid, phase, operation, bytes, iteration, age of the last beat.
  std::string table() const;
  /// "no progress for 60 s: rank 1 is in warmup iteration 3 of ...; rank 0 is in ...": ranks that a
  /// signal halted first, then by the time of their last beat. Reads /proc of this node.
  std::string reason() const;

 private:
  struct Seen {
    std::uint64_t beats = 0;
    Phase phase = Phase::unseen;
    std::int64_t at_ns = 0;
  };
  std::span<const MonitorSlot> slots_;
  double timeout_s_;
  std::vector<Seen> seen_;
  std::int64_t last_change_ns_;
};

}  // namespace commtune
