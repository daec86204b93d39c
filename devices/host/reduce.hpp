#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/types.hpp"

namespace commtune {

/// How a kernel writes its result. `cached`: ordinary stores, for data that is used again soon.
/// `streaming`: non-temporal stores that leave the caches alone and do not read the line they
/// overwrite, for data that is too big to be found in a cache later; ordered before later stores
/// when the kernel returns. A hint: where the instruction set has no such stores, as `cached`.
enum class Stores : std::uint8_t { cached, streaming };

/// into[i] = a[i] op b[i] for `count` elements. `into` may equal `a` or `b`; other overlap is not
/// allowed. Operands need no alignment. Integers wrap on overflow; types narrower than float
/// compute in float and round once, 8-bit ones saturate; min and max return an operand, NaN when
/// either is NaN. ReduceOp::avg reduces as sum: the division is scale().
using ReduceKernel = void (*)(const std::byte* a, const std::byte* b, std::byte* into,
                              std::size_t count);

/// into[i] = ((s0[i] op s1[i]) op s2[i]) ... over `n` >= 2 sources in one pass; the bits are those
/// of a chain of ReduceKernels. `into` may equal any source; other overlap is not allowed.
using ManyReduceKernel = void (*)(const std::byte* const* sources, std::size_t n, std::byte* into,
                                  std::size_t count);

/// Any sizes and alignments; the ranges do not overlap.
using CopyKernel = void (*)(const std::byte* from, std::byte* into, std::size_t bytes);

/// Resolved once at prepare time, for the best instruction set of this processor; never null for
/// valid arguments.
ReduceKernel reduce_kernel(DataType, ReduceOp, Stores stores = Stores::cached) noexcept;
ManyReduceKernel many_reduce_kernel(DataType, ReduceOp, Stores stores = Stores::cached) noexcept;
CopyKernel copy_kernel(Stores) noexcept;

/// data[i] = data[i] / divisor, the last step of ReduceOp::avg. Integers truncate towards zero.
/// `divisor` >= 1.
void scale(std::byte* data, std::size_t count, DataType, int divisor) noexcept;

/// The instruction set of these kernels: "portable", "avx2", "avx512" or "neon".
std::string_view reduce_instruction_set() noexcept;

}  // namespace commtune
