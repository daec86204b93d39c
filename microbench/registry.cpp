#include <array>

#include "core/error.hpp"
#include "microbench/benchmark.hpp"

#define COMMTUNE_BENCHMARKS(X) \
  X(latency)                   \
  X(bandwidth)                 \
  X(get_bandwidth)             \
  X(get_latency)               \
  X(put_bandwidth)             \
  X(put_latency)               \
  X(allgather)                 \
  X(allgatherv)                \
  X(allreduce)                 \
  X(alltoall)                  \
  X(alltoallv)                 \
  X(barrier)                   \
  X(bound)                     \
  X(broadcast)                 \
  X(exscan)                    \
  X(gather)                    \
  X(gatherv)                   \
  X(ps)                        \
  X(reduce)                    \
  X(reduce_scatter)            \
  X(reduce_scatterv)           \
  X(scan)                      \
  X(scatter)                   \
  X(scatterv)                  \
  X(sendrecv)

namespace commtune {

#define COMMTUNE_DECLARE(name) extern const Benchmark benchmark_##name;
COMMTUNE_BENCHMARKS(COMMTUNE_DECLARE)
#undef COMMTUNE_DECLARE

std::span<const Benchmark* const> benchmarks() noexcept {
#define COMMTUNE_ADDRESS(name) &benchmark_##name,
  static constexpr std::array list{COMMTUNE_BENCHMARKS(COMMTUNE_ADDRESS)};
#undef COMMTUNE_ADDRESS
  return list;
}

const Benchmark& find_benchmark(std::string_view name, std::string_view what) {
  std::string names;
  for (const Benchmark* benchmark : benchmarks()) {
    if (benchmark->name == name) return *benchmark;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", benchmark->name);
  }
  fail(Errc::usage, "{} '{}': unknown test; valid: {}", what, name, names);
}

}  // namespace commtune
