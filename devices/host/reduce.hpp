#pragma once
#include <cstddef>

#include "core/types.hpp"

namespace commtune {

/// into[i] = a[i] op b[i] for `count` elements. `into` may equal `a` or `b`; other overlap is not
/// allowed. Integers wrap on overflow; float16 and bfloat16 compute in float and round once; min
/// and max return NaN when either operand is NaN. ReduceOp::avg reduces as sum: the division is
/// scale().
using ReduceKernel = void (*)(const std::byte* a, const std::byte* b, std::byte* into,
                              std::size_t count);

/// Resolved once at prepare time; never null for a valid pair.
ReduceKernel reduce_kernel(DataType, ReduceOp) noexcept;

/// data[i] = data[i] / divisor, the last step of ReduceOp::avg. Integers truncate towards zero.
/// `divisor` >= 1.
void scale(std::byte* data, std::size_t count, DataType, int divisor) noexcept;

}  // namespace commtune
