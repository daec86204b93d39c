#pragma once
#include <cstdint>
#include <vector>

namespace commtune {

/// A span of time [begin, end), nanoseconds.
struct Interval {
  std::int64_t begin = 0, end = 0;
};

/// Union of many intervals with fast sums over windows.
class BusyTimeline {
 public:
  explicit BusyTimeline(std::vector<Interval> intervals);
  /// Covered time inside [begin, end).
  std::int64_t busy(std::int64_t begin, std::int64_t end) const;
  bool empty() const noexcept { return merged_.empty(); }
  std::int64_t begin() const noexcept { return merged_.empty() ? 0 : merged_.front().begin; }
  std::int64_t end() const noexcept { return merged_.empty() ? 0 : merged_.back().end; }

 private:
  /// Covered time before `at`.
  std::int64_t before(std::int64_t at) const;

  std::vector<Interval> merged_;
  std::vector<std::int64_t> sums_;  ///< covered time before merged_[i]
};

}  // namespace commtune
