// Linear barrier: rank 0 waits for a signal of every other rank, then releases them all.
//
//   cost: 2(P-1) alpha, all of it on rank 0's port
//   Wins for 2 or 3 ranks.
//   Hensgen, Finkel & Manber, Int. J. Parallel Program. 17(1), 1988.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  ScheduleBuilder program(Collective::barrier, shape, 0);
  if (shape.rank != 0) {
    program.signal(0);
    program.fence();
    program.wait_signal(0);
    return std::move(program).finish();
  }
  std::vector<Rank> others;
  for (Rank other = 1; other < shape.size; ++other) others.push_back(other);
  for (const Rank other : others) program.wait_signal(other);
  program.fence();
  signal_all(program, others);
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm barrier_linear{
    .collective = Collective::barrier,
    .name = "linear",
    .generate = generate,
    .tunables = "",
    .summary = "all signal rank 0 and it signals all, 2(P-1) alpha (Hensgen, Finkel & Manber 1988)",
    .cost = "2(P-1) alpha"};

}  // namespace commtune
