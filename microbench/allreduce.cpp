#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_allreduce{
    .name = "allreduce",
    .summary = "every rank gets the reduction of all vectors; last rank in to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "4:1M:x4",
    .collective = Collective::allreduce,
    .run = run_collective_benchmark};

}  // namespace commtune
