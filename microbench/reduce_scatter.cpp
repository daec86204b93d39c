#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_reduce_scatter{
    .name = "reduce_scatter",
    .summary = "every rank gets its part of the reduction; last rank in to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "4:1M:x4",
    .collective = Collective::reduce_scatter,
    .run = run_collective_benchmark};

}  // namespace commtune
