#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "transports/job_health.hpp"
#include "transports/local/limits.hpp"
#include "transports/monitor.hpp"

namespace commtune::local {

/// What one rank shows the others in a bootstrap round; two alternate.
struct alignas(128) BootstrapCell {
  std::atomic<std::uint64_t> round;
  std::uint64_t total_bytes[2];
  std::byte data[2][bootstrap_bytes];
};

/// The first failure of a job.
struct Failure {
  Rank rank = -1;
  int status = 0;
  std::string message;
  bool said_by_rank = false;  ///< the rank's own words; otherwise an observation about it
};

/// What the ranks of a job on one host and the process that supervises them tell each other,
/// whatever transport they use. Mapped before the ranks start.
class Board final : public JobHealth {
 public:
  /// `ranks` >= 1. Throws Error(system) when the memory cannot be mapped.
  explicit Board(Rank ranks);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  Rank size() const noexcept { return ranks_; }
  BootstrapCell& bootstrap(Rank rank) const noexcept { return bootstrap_[rank]; }
  std::span<MonitorSlot> monitors() const noexcept {
    return {monitors_, static_cast<std::size_t>(ranks_)};
  }

  /// Records the failure unless one was recorded before.
  void fail(const Failure&) noexcept;
  bool failed() const noexcept override { return failed_->load(std::memory_order_acquire) != 0; }
  /// Valid once failed().
  Failure failure() const;

 private:
  struct FailureRecord;
  [[noreturn]] void throw_failure() const override;

  Rank ranks_;
  std::byte* base_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  FailureRecord* failure_ = nullptr;
  const std::atomic<std::int32_t>* failed_ = nullptr;
  MonitorSlot* monitors_ = nullptr;
  BootstrapCell* bootstrap_ = nullptr;
};

}  // namespace commtune::local
