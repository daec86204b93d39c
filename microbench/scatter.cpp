#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_scatter{
    .name = "scatter",
    .summary = "every rank gets its part of the root's vector; last rank in to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "1:256K:x4",
    .collective = Collective::scatter,
    .run = run_collective_benchmark};

}  // namespace commtune
