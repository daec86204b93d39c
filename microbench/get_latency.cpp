#include "microbench/one_sided.hpp"

namespace commtune {
namespace {

void run(BenchContext& context) { run_one_sided(context, {.puts = false, .windows = false}); }

}  // namespace

extern const Benchmark benchmark_get_latency{
    .name = "get_latency",
    .summary = "rank 0 reads memory of rank 1, one access after the other",
    .kind = BenchmarkKind::point_to_point,
    .default_sizes = "1:4M:x4",
    .collective = {},
    .run = run};

}  // namespace commtune
