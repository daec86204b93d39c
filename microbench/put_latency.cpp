#include "microbench/one_sided.hpp"

namespace commtune {
namespace {

void run(BenchContext& context) { run_one_sided(context, {.puts = true, .windows = false}); }

}  // namespace

extern const Benchmark benchmark_put_latency{
    .name = "put_latency",
    .summary =
        "rank 0 writes into memory of rank 1 and waits until it is there, one after the other",
    .kind = BenchmarkKind::point_to_point,
    .default_sizes = "1:4M:x4",
    .collective = {},
    .run = run};

}  // namespace commtune
