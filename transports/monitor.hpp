#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/types.hpp"

namespace commtune {

enum class Phase : std::uint32_t {
  unseen,
  start,
  setup,
  warmup,
  timed,
  check,
  idle,
  done,
  failed,
  terminated
};
std::string_view name(Phase) noexcept;

/// A rank's sign of life, in memory that the watchdog outside the ranks can read. Writers store
/// relaxed; a torn mixture of fields is acceptable in a report.
struct alignas(128) MonitorSlot {
  std::atomic<std::uint64_t> beats{0};      ///< any change is progress
  std::atomic<std::uint64_t> iteration{0};  ///< within the phase
  std::atomic<std::uint64_t> bytes{0};      ///< of the current row
  std::atomic<Phase> phase{Phase::unseen};
  std::atomic<Phase> failed_in{Phase::unseen};  ///< phase before failed or terminated
  std::atomic<std::int32_t> pid{0};
  std::atomic<std::int32_t> status{-1};  ///< exit status once the rank has ended its work
  char operation[48] = {};               ///< "allreduce/ring", NUL-terminated
  char message[512] = {};                ///< why the rank failed, if it said so

  void enter(Phase) noexcept;
  void describe(std::string_view operation, std::uint64_t row_bytes) noexcept;
  void beat(std::uint64_t at_iteration) noexcept {
    iteration.store(at_iteration, std::memory_order_relaxed);
    beats.store(beats.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void fail(std::string_view why) noexcept;
  /// "timed iteration 12 of allreduce/ring, 65536 bytes".
  std::string where() const;
};

}  // namespace commtune
