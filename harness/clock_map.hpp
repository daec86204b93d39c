#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/types.hpp"

namespace commtune {

/// What one clock showed against rank 0's at one moment.
struct ClockReading {
  std::int64_t at_ns = 0;      ///< on the clock itself
  std::int64_t offset_ns = 0;  ///< how far it was ahead of rank 0's
  std::int64_t error_ns = 0;   ///< the offset is at most this far off
};

/// How fast one clock gains on rank 0's.
struct ClockDrift {
  double ppm = 0, error_ppm = 0;  ///< parts per million, at most `error_ppm` off
};

/// Every rank's clock against rank 0's. A row lies between two readings of each clock, and in
/// between a clock is taken to run evenly. Holds the same on every rank.
class ClockMap {
 public:
  /// All ranks read one clock.
  explicit ClockMap(Rank ranks);
  /// Rank r reads the same clock as `leaders[r]`, the lowest rank that does. `readings` has one
  /// element per rank, of which those of leaders count. Throws Error(usage) when the lengths differ
  /// or a leader has a leader.
  ClockMap(std::vector<Rank> leaders, std::vector<ClockReading> readings);

  bool shared() const noexcept { return shared_; }
  Rank ranks() const noexcept { return static_cast<Rank>(leaders_.size()); }
  Rank leader(Rank rank) const { return leaders_[static_cast<std::size_t>(rank)]; }
  /// The latest reading of the rank's clock.
  const ClockReading& reading(Rank rank) const { return of(after_, rank); }

  /// A row begins: until end() the offsets are those of these readings.
  void begin(std::vector<ClockReading>);
  /// A row has ended: offsets at any moment lie on the line through both readings.
  void end(std::vector<ClockReading>);

  /// How far the rank's clock is ahead of rank 0's when it shows `at_ns`.
  std::int64_t offset_ns(Rank, std::int64_t at_ns) const;
  /// A rank's stamp on rank 0's clock.
  std::int64_t on_rank_zero(Rank rank, std::int64_t at_ns) const {
    return shared_ ? at_ns : at_ns - offset_ns(rank, at_ns);
  }

  /// A stamp of the rank during the row is at most this far off on rank 0's clock.
  std::int64_t error_ns(Rank) const;
  /// Bound of the error that clocks add to a time between two ranks during the row: the sum of the
  /// two largest errors of clocks.
  double error_us() const;
  /// The largest error_us() of all rows so far.
  double largest_error_us() const noexcept { return largest_error_us_; }
  /// From the first and the latest reading; none before there are two.
  std::optional<ClockDrift> drift(Rank) const;

 private:
  const ClockReading& of(const std::vector<ClockReading>& readings, Rank rank) const {
    return readings[static_cast<std::size_t>(leader(rank))];
  }

  bool shared_;
  std::vector<Rank> leaders_;
  std::vector<ClockReading> first_, before_, after_;  ///< by rank
  double largest_error_us_ = 0;
};

/// `clock_error_us` and `clocks` of a record: an element for each clock other than rank 0's.
/// `hosts` names every rank's host; empty where nobody asks, then no clock is described.
Json describe_clocks(const ClockMap&, const std::vector<std::string>& hosts);

}  // namespace commtune
