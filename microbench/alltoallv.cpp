#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_alltoallv{
    .name = "alltoallv",
    .summary =
        "alltoall of uneven parts: 1, 2 and 0 times the size, by the sum of both ranks; last rank "
        "in to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "4:256K:x4",
    .collective = Collective::alltoall,
    .uneven = true,
    .run = run_collective_benchmark};

}  // namespace commtune
