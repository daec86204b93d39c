#include <benchmark/benchmark.h>
#include <cstring>
#include <vector>

#include "devices/host/reduce.hpp"

namespace commtune {
namespace {

/// Operand memory, touched; all zero bytes, which is a normal value in every data type.
struct Operands {
  explicit Operands(std::size_t bytes) : a(bytes), b(bytes), into(bytes) {}
  std::vector<std::byte> a, b, into;
};

void reduce_kernel_time(benchmark::State& state, DataType type, ReduceOp op) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Operands operands(bytes);
  const ReduceKernel kernel = reduce_kernel(type, op);
  const std::size_t count = bytes / size_of(type);
  for ([[maybe_unused]] auto iteration : state) {
    kernel(operands.a.data(), operands.b.data(), operands.into.data(), count);
    benchmark::DoNotOptimize(operands.into.data());
    benchmark::ClobberMemory();
  }
  // Two streams are read and one is written.
  state.SetBytesProcessed(state.iterations() * state.range(0) * 3);
}

void memcpy_time(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Operands operands(bytes);
  for ([[maybe_unused]] auto iteration : state) {
    std::memcpy(operands.into.data(), operands.a.data(), bytes);
    benchmark::DoNotOptimize(operands.into.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 2);
}

bool register_kernels() {
  constexpr std::int64_t smallest = 64, largest = 16 << 20;
  benchmark::RegisterBenchmark("memcpy", memcpy_time)
      ->RangeMultiplier(16)
      ->Range(smallest, largest);
  for (const DataType type : all_data_types()) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
      const std::string title = "reduce/" + std::string(name(type)) + "/" + std::string(name(op));
      benchmark::RegisterBenchmark(title.c_str(), reduce_kernel_time, type, op)
          ->RangeMultiplier(16)
          ->Range(smallest, largest);
    }
  }
  return true;
}

[[maybe_unused]] const bool registered = register_kernels();

}  // namespace
}  // namespace commtune
