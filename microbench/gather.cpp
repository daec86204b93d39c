#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_gather{
    .name = "gather",
    .summary = "the root gets every rank's part; last rank in to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "1:256K:x4",
    .collective = Collective::gather,
    .run = run_collective_benchmark};

}  // namespace commtune
