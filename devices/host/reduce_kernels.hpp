#pragma once
#include <array>
#include <cstddef>

#include "devices/host/reduce.hpp"

namespace commtune {

using ScaleKernel = void (*)(std::byte* data, std::size_t count, int divisor);

/// Every kernel, compiled for one instruction set.
struct ReduceKernels {
  std::array<std::array<ReduceKernel, 5>, 9> reduce;  ///< [DataType][ReduceOp]
  std::array<ScaleKernel, 9> scale;                   ///< [DataType]
};

/// For any processor of the architecture the program was compiled for.
const ReduceKernels& portable_reduce_kernels() noexcept;
/// For processors with AVX2 and F16C; nullptr where this one lacks them.
const ReduceKernels* avx2_reduce_kernels() noexcept;

}  // namespace commtune
