#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_reduce{
    .name = "reduce",
    .summary =
        "the root gets the combination of every rank's vector; last rank in to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "4:1M:x4",
    .collective = Collective::reduce,
    .run = run_collective_benchmark};

}  // namespace commtune
