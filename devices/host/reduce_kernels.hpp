#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "devices/host/reduce.hpp"

namespace commtune {

using ScaleKernel = void (*)(std::byte* data, std::size_t count, int divisor);

inline constexpr std::size_t data_type_count = 11;
static_assert(static_cast<std::size_t>(DataType::float8_e5m2) + 1 == data_type_count);

/// Every kernel, compiled for one instruction set. All sets give the same bits, except those of a
/// NaN.
struct ReduceKernels {
  /// [DataType][ReduceOp]
  template <class Kernel>
  using Table = std::array<std::array<Kernel, 5>, data_type_count>;

  std::string_view name;
  std::array<Table<ReduceKernel>, 2> reduce;       ///< [Stores]
  std::array<Table<ManyReduceKernel>, 2> many;     ///< [Stores]
  std::array<CopyKernel, 2> copy;                  ///< [Stores]
  std::array<ScaleKernel, data_type_count> scale;  ///< [DataType]

  ReduceKernel reduce_kernel(DataType type, ReduceOp op, Stores stores) const noexcept {
    return entry(reduce, type, op, stores);
  }
  ManyReduceKernel many_kernel(DataType type, ReduceOp op, Stores stores) const noexcept {
    return entry(many, type, op, stores);
  }

 private:
  template <class Kernel>
  static Kernel entry(const std::array<Table<Kernel>, 2>& tables, DataType type, ReduceOp op,
                      Stores stores) noexcept {
    const auto& table = tables[static_cast<std::size_t>(stores)];
    return table[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
  }
};

/// For any processor of the architecture the program was compiled for.
const ReduceKernels& portable_reduce_kernels() noexcept;
/// For processors with the named instruction set; nullptr where this one lacks it.
/// AVX2 with F16C; AVX-512 with F, BW, VL and DQ.
const ReduceKernels* avx2_reduce_kernels() noexcept;
const ReduceKernels* avx512_reduce_kernels() noexcept;
const ReduceKernels* neon_reduce_kernels() noexcept;

/// The sets this processor can run, the portable one first and the best one last.
std::span<const ReduceKernels* const> reduce_kernel_sets() noexcept;

}  // namespace commtune
