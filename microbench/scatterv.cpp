#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_scatterv{.name = "scatterv",
                                          .summary =
                                              "scatter of uneven parts: 1, 2 and 0 times the size, "
                                              "in turn; last rank in to last rank out",
                                          .kind = BenchmarkKind::collective,
                                          .default_sizes = "4:256K:x4",
                                          .collective = Collective::scatter,
                                          .uneven = true,
                                          .run = run_collective_benchmark};

}  // namespace commtune
