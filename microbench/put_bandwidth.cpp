#include "microbench/one_sided.hpp"

namespace commtune {
namespace {

void run(BenchContext& context) { run_one_sided(context, {.puts = true, .windows = true}); }

}  // namespace

extern const Benchmark benchmark_put_bandwidth{
    .name = "put_bandwidth",
    .summary =
        "rank 0 writes windows of 64 into memory of rank 1, each flushed; time and bytes_total are "
        "those of a window",
    .kind = BenchmarkKind::point_to_point,
    .default_sizes = "1:4M:x4",
    .collective = {},
    .run = run};

}  // namespace commtune
