#pragma once
#include <cstddef>
#include <optional>
#include <span>

namespace commtune {

/// One-way nanoseconds of a cache line between two processors, the median over blocks of round
/// trips in about 1 ms. Empty when there is one processor only, or when a thread did not get its
/// processor in time. The caller's own affinity stays as it is.
std::optional<double> core_to_core_ns();

/// Bytes copied per nanosecond (GB/s), the best of three copies. Both spans are touched and equal
/// in size.
double copy_gbs(std::span<const std::byte> from, std::span<std::byte> into);

}  // namespace commtune
