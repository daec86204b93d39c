// Dissemination barrier: in each round every rank tells a rank twice as far away that it and all
// ranks it has heard of have arrived.
//
//   step k:  rank r signals r + 2^k and waits for the signal of r - 2^k, for 2^k < P
//
//   cost: ceil(log2 P) alpha
//   Works for any P without a fold, and no rank is special.
//   Hensgen, Finkel & Manber, Int. J. Parallel Program. 17(1), 1988.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  ScheduleBuilder program(Collective::barrier, shape, 0);
  for (Rank distance = 1; distance < shape.size; distance *= 2) {
    program.signal(around(shape.rank + distance, shape.size));
    program.wait_signal(around(shape.rank - distance, shape.size));
    program.fence();
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm barrier_dissemination{
    .collective = Collective::barrier,
    .name = "dissemination",
    .generate = generate,
    .tunables = "",
    .summary = "signals at doubling distances, log2 P alpha (Hensgen, Finkel & Manber 1988)",
    .cost = "L alpha"};

}  // namespace commtune
