#include "devices/host/reduce.hpp"

#include "devices/host/reduce_kernels.hpp"
#include "devices/host/reduce_loops.hpp"

namespace commtune {
namespace {

struct Portable {
  static constexpr std::string_view name = "portable";
};

struct Sets {
  std::array<const ReduceKernels*, 4> values{};
  std::size_t count = 0;
};

Sets find_sets() noexcept {
  Sets sets;
  for (const ReduceKernels* set : {&portable_reduce_kernels(), neon_reduce_kernels(),
                                   avx2_reduce_kernels(), avx512_reduce_kernels()}) {
    if (set != nullptr) sets.values[sets.count++] = set;
  }
  return sets;
}

const ReduceKernels& best_kernels() noexcept { return *reduce_kernel_sets().back(); }

}  // namespace

std::span<const ReduceKernels* const> reduce_kernel_sets() noexcept {
  // Asked once: the question costs microseconds where the instruction behind it traps, as in a VM.
  static const Sets sets = find_sets();
  return {sets.values.data(), sets.count};
}

const ReduceKernels& portable_reduce_kernels() noexcept { return reduce_loops::kernels<Portable>; }

ReduceKernel reduce_kernel(DataType type, ReduceOp op, Stores stores) noexcept {
  return best_kernels().reduce_kernel(type, op, stores);
}

ManyReduceKernel many_reduce_kernel(DataType type, ReduceOp op, Stores stores) noexcept {
  return best_kernels().many_kernel(type, op, stores);
}

CopyKernel copy_kernel(Stores stores) noexcept {
  return best_kernels().copy[static_cast<std::size_t>(stores)];
}

void scale(std::byte* data, std::size_t count, DataType type, int divisor) noexcept {
  best_kernels().scale[static_cast<std::size_t>(type)](data, count, divisor);
}

std::string_view reduce_instruction_set() noexcept { return best_kernels().name; }

}  // namespace commtune
