#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_barrier{
    .name = "barrier",
    .summary = "no rank leaves before the last one has entered; last rank in to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "",
    .collective = Collective::barrier,
    .run = run_collective_benchmark};

}  // namespace commtune
