// Bruck's allgather with radix k: groups of parts grow k-fold in each round, whatever P is.
//
//   round h = 1, k, k^2, ...:  rank r holds parts r, ..., r+h-1. For v = 1..k-1 it sends them to
//                              r-v*h and receives parts r+v*h, ... from r+v*h, as far as they are
//                              missing. Parts land at their own place; runs wrap around.
//
//   cost: ceil(log_k P) alpha + (P-1) m beta where the k-1 messages of a round overlap, else k-1
//         times as many alpha; m bytes in each rank's part
//   Wins for short parts at any P; a higher radix where the network carries several messages at
//   once.
//   Bruck, Ho, Kipnis, Upfal & Weathersby, IEEE Trans. Parallel Distrib. Syst. 8(11), 1997.
#include <algorithm>

#include "collectives/algorithms/parts.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size, rank = shape.rank;
  const auto radix = static_cast<Rank>(
      std::clamp(params.radix, 2U, std::max(2U, static_cast<std::uint32_t>(size))));
  const auto mine = static_cast<std::uint32_t>(rank);
  ScheduleBuilder program(Collective::allgather, shape, 1);
  program.copy(in(mine), out(mine));
  for (Rank held = 1; held < size; held *= radix) {
    for (Rank distance = held; distance < size && distance < radix * held; distance += held) {
      const Rank count = std::min(held, size - distance);
      program.send(
          around(rank - distance, size),
          held == 1 ? std::vector{in(mine)} : ring_runs(BufferId::output, rank, count, size));
      program.recv(around(rank + distance, size),
                   ring_runs(BufferId::output, rank + distance, count, size));
    }
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allgather_bruck{
    .collective = Collective::allgather,
    .name = "bruck",
    .generate = generate,
    .tunables = "radix",
    .summary =
        "groups of parts grow radix-fold at any P, log_k P alpha + (P-1) m beta "
        "(Bruck et al. 1997)",
    .cost = "ceil(log_k P) alpha + (P-1) m beta"};

}  // namespace commtune
