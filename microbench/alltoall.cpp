#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_alltoall{
    .name = "alltoall",
    .summary = "every rank sends every rank a part of this size; last rank in to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "1:256K:x4",
    .collective = Collective::alltoall,
    .run = run_collective_benchmark};

}  // namespace commtune
