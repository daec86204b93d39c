#include "microbench/one_sided.hpp"

namespace commtune {
namespace {

void run(BenchContext& context) { run_one_sided(context, {.puts = false, .windows = true}); }

}  // namespace

extern const Benchmark benchmark_get_bandwidth{.name = "get_bandwidth",
                                               .summary =
                                                   "rank 0 reads windows of 64 from memory of rank "
                                                   "1; time and bytes_total are those of a window",
                                               .kind = BenchmarkKind::point_to_point,
                                               .default_sizes = "1:4M:x4",
                                               .collective = {},
                                               .run = run};

}  // namespace commtune
