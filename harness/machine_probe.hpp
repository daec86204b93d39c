#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace commtune {

/// One-way nanoseconds of a cache line between two processors, the median over blocks of round
/// trips in about 1 ms. Empty when there is one processor only, or when a thread did not get its
/// processor in time. The caller's own affinity stays as it is.
std::optional<double> core_to_core_ns();

/// Bytes copied per nanosecond (GB/s), the best of three copies. Both spans are touched and equal
/// in size.
double copy_gbs(std::span<const std::byte> from, std::span<std::byte> into);

/// Processor time since boot in clock ticks, from the text of /proc/stat; zeros when unreadable.
struct ProcessorTime {
  std::uint64_t steal = 0, total = 0;
};
ProcessorTime parse_processor_time(std::string_view proc_stat);

}  // namespace commtune
