#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_allgather{
    .name = "allgather",
    .summary = "every rank gets all ranks' parts; last rank in to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "4:1M:x4",
    .collective = Collective::allgather,
    .run = run_collective_benchmark};

}  // namespace commtune
