#pragma once
#include <functional>

#include "microbench/context.hpp"
#include "microbench/rotation.hpp"

namespace commtune {

/// A pattern between ranks 0 and 1; further ranks only take part in what is collective.
struct PointToPoint {
  std::uint64_t messages = 1;  ///< per pattern, what bandwidth counts
  double divisor = 1;          ///< from the time of a pattern to the reported time
  std::size_t check_area = 0;  ///< bytes wanted for distinct messages while checking
  /// Runs the pattern `repeats` times.
  std::function<void(Job&, Rotation&, std::uint64_t repeats)> transfer;
  /// Runs it once on checked data; what this rank received wrong.
  std::function<PatternResult(Job&, Rotation&, std::uint64_t seed)> checked;
};

/// One row per size.
void run_point_to_point(BenchContext&, const std::function<PointToPoint(std::uint64_t bytes)>&);

}  // namespace commtune
