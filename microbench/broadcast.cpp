#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_broadcast{
    .name = "broadcast",
    .summary = "every rank gets the root's vector; last rank in to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "4:1M:x4",
    .collective = Collective::broadcast,
    .run = run_collective_benchmark};

}  // namespace commtune
