#include "microbench/collective.hpp"

namespace commtune {

extern const Benchmark benchmark_exscan{.name = "exscan",
                                        .summary =
                                            "rank r gets the combination of the vectors of ranks 0 "
                                            "to r-1; last rank in to last rank out",
                                        .kind = BenchmarkKind::collective,
                                        .default_sizes = "4:1M:x4",
                                        .collective = Collective::exscan,
                                        .run = run_collective_benchmark};

}  // namespace commtune
