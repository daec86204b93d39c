#pragma once
#include "microbench/context.hpp"

namespace commtune {

/// What rank 0 does to memory of rank 1, which only polls.
struct OneSidedPattern {
  bool puts = true;      ///< else gets
  bool windows = false;  ///< 64 in flight together, and one flush; else one at a time, each flushed
};

/// One row per size; skipped where the transport has no one-sided access. A put counts once it is
/// in the memory of rank 1, a get once it is here.
void run_one_sided(BenchContext&, const OneSidedPattern&);

}  // namespace commtune
