#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_sendrecv{
    .name = "sendrecv",
    .summary =
        "every rank's vector goes to the next rank, around the ring; last rank in to last rank out",
    .kind = BenchmarkKind::collective,
    .default_sizes = "1:1M:x4",
    .collective = Collective::sendrecv,
    .run = run_collective_benchmark};

}  // namespace commtune
