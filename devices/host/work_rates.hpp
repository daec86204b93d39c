#pragma once
#include <array>

#include "core/types.hpp"

namespace commtune {

/// Nanoseconds per byte of result that local work takes on one core of this machine, from its
/// private caches: what a simulation charges for it.
struct WorkRates {
  static constexpr std::size_t types = 11, ops = 5;
  double copy_ns = 0;
  std::array<std::array<double, ops>, types> reduce_ns{};  ///< of two sources, by type and operator

  double reduce(DataType type, ReduceOp op) const noexcept {
    return reduce_ns[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
  }
};

/// Runs every kernel of devices/host/reduce.hpp a few times; the best of them counts, so that other
/// work on the machine disturbs little. Takes some 20 ms.
WorkRates measure_work_rates();

}  // namespace commtune
