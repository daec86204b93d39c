#include "devices/host/reduce.hpp"

#include "devices/host/reduce_kernels.hpp"
#include "devices/host/reduce_loops.hpp"

namespace commtune {
namespace {

struct Portable {
  static constexpr std::size_t half_width = 0;
};

const ReduceKernels& best_kernels() noexcept {
  // Asked once: the question costs microseconds where the instruction behind it traps, as in a VM.
  static const ReduceKernels* const avx2 = avx2_reduce_kernels();
  return avx2 != nullptr ? *avx2 : portable_reduce_kernels();
}

}  // namespace

const ReduceKernels& portable_reduce_kernels() noexcept { return reduce_loops::kernels<Portable>; }

ReduceKernel reduce_kernel(DataType type, ReduceOp op) noexcept {
  return best_kernels().reduce[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
}

void scale(std::byte* data, std::size_t count, DataType type, int divisor) noexcept {
  best_kernels().scale[static_cast<std::size_t>(type)](data, count, divisor);
}

}  // namespace commtune
