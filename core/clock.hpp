#pragma once
#include <chrono>
#include <cstdint>

namespace commtune {

/// Monotonic nanoseconds of this host (CLOCK_MONOTONIC): comparable between processes of one host,
/// not between hosts. Measurements use Transport::now_ns, because simulated time belongs to the
/// transport; this one is for set-up, watchdogs and timelines of real runs.
inline std::int64_t monotonic_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace commtune
