#pragma once
#include "microbench/benchmark.hpp"

namespace commtune {

/// The one implementation behind every collective test: a row per size and algorithm. `bytes` is
/// what a rank contributes; sizes that do not divide by the element size are rounded down to whole
/// elements, and the row shows both.
void run_collective_benchmark(BenchContext&);

}  // namespace commtune
