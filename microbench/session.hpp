#pragma once
#include <functional>
#include <ostream>
#include <vector>

#include "collectives/runtime/selection.hpp"
#include "harness/options.hpp"
#include "microbench/benchmark.hpp"
#include "transports/job.hpp"

namespace commtune {

/// What `--algorithm auto` means for a collective of `ranks` ranks and `bytes` per rank.
using AutoSelect = std::function<Selection(Collective, Rank ranks, std::uint64_t bytes, DataType)>;

struct BenchPlan {
  RunOptions options;
  std::vector<const Benchmark*> benchmarks;
  AutoSelect select;               ///< empty: select_built_in()
  std::filesystem::path timeline;  ///< of kept iterations, written by rank 0; empty: none
  bool prove = true;               ///< verify a schedule before its first run, up to 256 ranks
};

/// The body of a benchmark job: called by every rank, returns the rank's exit status. Rank 0 writes
/// rows to `out` and to the result file of the options. Before the first transfer all ranks compare
/// their plans and throw Error(usage) naming the ranks that differ.
int run_benchmarks(Job&, const BenchPlan&, std::ostream& out);

}  // namespace commtune
