#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_gatherv{
    .name = "gatherv",
    .summary =
        "gather of uneven parts: 1, 2 and 0 times the size, in turn; last rank in to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "4:256K:x4",
    .collective = Collective::gather,
    .uneven = true,
    .run = run_collective_benchmark};

}  // namespace commtune
