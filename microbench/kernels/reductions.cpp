// reduce/TYPE/OP/SET/BYTES: one two-source reduction, for every instruction set this processor has.
// many/TYPE/SOURCES/FORM/BYTES: several sources, in one pass or as a chain of two-source
// reductions. BYTES are those of one operand.
#include <array>
#include <benchmark/benchmark.h>
#include <string>
#include <vector>

#include "devices/host/reduce_kernels.hpp"
#include "microbench/kernels/buffers.hpp"

namespace commtune {
namespace {

void two_sources(benchmark::State& state, ReduceKernel kernel, DataType type) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const Buffer a(bytes, 0), b(bytes, 5), into(bytes, 10);
  for ([[maybe_unused]] auto iteration : state) {
    kernel(a.data(), b.data(), into.data(), bytes / size_of(type));
    benchmark::ClobberMemory();
  }
  // Two streams are read and one is written.
  state.SetBytesProcessed(state.iterations() * state.range(0) * 3);
}

void many_sources(benchmark::State& state, ManyReduceKernel kernel, DataType type, std::size_t n) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<Buffer> buffers;
  std::vector<const std::byte*> sources;
  for (std::size_t i = 0; i < n; ++i) {
    buffers.emplace_back(bytes, i * 5);
    sources.push_back(buffers.back().data());
  }
  const Buffer into(bytes, n * 5);
  for ([[maybe_unused]] auto iteration : state) {
    kernel(sources.data(), n, into.data(), bytes / size_of(type));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * static_cast<std::int64_t>(n + 1));
}

/// What many() is compared with: float32 sums only.
void chain(const std::byte* const* sources, std::size_t n, std::byte* into, std::size_t count) {
  const ReduceKernel kernel = reduce_kernel(DataType::float32, ReduceOp::sum);
  kernel(sources[0], sources[1], into, count);
  for (std::size_t i = 2; i < n; ++i) kernel(into, sources[i], into, count);
}

constexpr std::array stores_names = {"", "-streaming"};

bool register_two_sources() {
  constexpr std::int64_t large = 32 << 20;
  for (const auto type : all_data_types()) {
    for (const auto op : {ReduceOp::sum, ReduceOp::max}) {
      for (const ReduceKernels* set : reduce_kernel_sets()) {
        const std::string title = "reduce/" + std::string(name(type)) + "/" +
                                  std::string(name(op)) + "/" + std::string(set->name);
        const auto kernel = set->reduce_kernel(type, op, Stores::cached);
        auto* entry = benchmark::RegisterBenchmark(title.c_str(), two_sources, kernel, type);
        entry->Arg(64)->Arg(4096)->Arg(65536)->Arg(1 << 20)->Arg(large);
        if (type != DataType::float32) continue;
        const auto streaming = set->reduce_kernel(type, op, Stores::streaming);
        benchmark::RegisterBenchmark((title + "-streaming").c_str(), two_sources, streaming, type)
            ->Arg(65536)
            ->Arg(large);
      }
    }
  }
  return true;
}

bool register_many_sources() {
  constexpr DataType type = DataType::float32;
  for (const std::size_t n : {3U, 4U, 8U, 16U, 32U}) {
    const std::string title = "many/float32/" + std::to_string(n) + "/";
    const auto add = [&](const std::string& form, ManyReduceKernel kernel) {
      benchmark::RegisterBenchmark((title + form).c_str(), many_sources, kernel, type, n)
          ->Arg(4096)
          ->Arg(65536)
          ->Arg(8 << 20);
    };
    for (const auto stores : {Stores::cached, Stores::streaming}) {
      add(std::string("fused") + stores_names[static_cast<std::size_t>(stores)],
          many_reduce_kernel(type, ReduceOp::sum, stores));
    }
    add("chain", chain);
  }
  return true;
}

[[maybe_unused]] const bool registered = register_two_sources() && register_many_sources();

}  // namespace
}  // namespace commtune
