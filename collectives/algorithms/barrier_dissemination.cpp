// Dissemination barrier: in each round every rank tells k-1 ranks at growing distances that it and
// all ranks it has heard of have arrived.
//
//   step i:  rank r signals r + j k^i and waits for the signals of r - j k^i, for j = 1, ..., k-1
//            as far as j k^i < P
//
//   cost: ceil(log_k P) alpha where k-1 messages overlap, k = `radix`
//   Works for any P without a fold, and no rank is special.
//   Hensgen, Finkel & Manber, Int. J. Parallel Program. 17(1), 1988.
#include "collectives/algorithms/trees.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size;
  const auto radix = static_cast<std::int64_t>(params.radix);
  ScheduleBuilder program(Collective::barrier, shape, 0);
  for (std::int64_t step = 1; step < size; step *= radix) {
    for (std::int64_t far = step; far < std::min<std::int64_t>(radix * step, size); far += step) {
      const auto distance = static_cast<Rank>(far);
      program.signal(around(shape.rank + distance, size));
      program.wait_signal(around(shape.rank - distance, size));
    }
    program.fence();
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm barrier_dissemination{
    .collective = Collective::barrier,
    .name = "dissemination",
    .generate = generate,
    .tunables = "radix",
    .summary = "signals at distances j k^i, log_k P alpha (Hensgen, Finkel & Manber 1988)",
    .cost = "log_k P alpha",
    .needs = needs_radix_of_two,
    .refuse = refuse_radix_below_two};

}  // namespace commtune
