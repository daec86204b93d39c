// copy/STORES/BYTES: one copy; cached stores are memcpy.
#include <benchmark/benchmark.h>

#include "devices/host/reduce.hpp"
#include "microbench/kernels/buffers.hpp"

namespace commtune {
namespace {

void copy_time(benchmark::State& state, Stores stores) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const Buffer from(bytes, 0), into(bytes, 5);
  const CopyKernel kernel = copy_kernel(stores);
  for ([[maybe_unused]] auto iteration : state) {
    kernel(from.data(), into.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 2);
}

constexpr std::int64_t smallest = 64, largest = 64 << 20;
BENCHMARK_CAPTURE(copy_time, cached, Stores::cached)
    ->Name("copy/cached")
    ->RangeMultiplier(16)
    ->Range(smallest, largest);
BENCHMARK_CAPTURE(copy_time, streaming, Stores::streaming)
    ->Name("copy/streaming")
    ->RangeMultiplier(16)
    ->Range(smallest, largest);

}  // namespace
}  // namespace commtune
