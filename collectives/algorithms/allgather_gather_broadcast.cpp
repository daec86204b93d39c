// Gather and broadcast: a binomial tree gathers all parts at rank 0, the same tree spreads them.
//
//   up, step k:    rank r with bit k set sends the parts r, ..., r+2^k-1 that it holds to r-2^k
//   down, step k:  the same tree in reverse, from the widest distance to 1: each rank gets the
//                  parts that it did not send up itself
//
//   cost: 2 ceil(log2 P) alpha + (ceil(log2 P) + 1) P m beta, m bytes in each rank's part
//   Wins rarely; the baseline that other allgathers must beat.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include <algorithm>

#include "collectives/algorithms/parts.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto mine = static_cast<std::uint32_t>(rank);
  ScheduleBuilder program(Collective::allgather, shape, 1);
  program.copy(in(mine), out(mine));
  const auto held = [&](Rank of, Rank distance) { return std::min(distance, size - of); };
  const auto lacks = [&](Rank of, Rank distance) {
    return ring_runs_outside(BufferId::output, of, held(of, distance), size);
  };
  Rank distance = 1;
  for (; distance < size && (rank & distance) == 0; distance *= 2) {
    const Rank child = rank + distance;
    if (child >= size) continue;
    program.recv(child, ring_runs(BufferId::output, child, held(child, distance), size));
  }
  if (rank != 0) {
    const Rank count = held(rank, distance);
    program.send(rank - distance, count == 1 ? std::vector{in(mine)}
                                             : ring_runs(BufferId::output, rank, count, size));
    program.recv(rank - distance, lacks(rank, distance));
  }
  for (Rank child = distance / 2; child > 0; child /= 2) {
    if (rank + child < size) program.send(rank + child, lacks(rank + child, child));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allgather_gather_broadcast{
    .collective = Collective::allgather,
    .name = "gather_broadcast",
    .generate = generate,
    .tunables = "",
    .summary =
        "binomial gather to rank 0, binomial broadcast, 2L alpha + (L+1) P m beta "
        "(Chan et al. 2007)",
    .cost = "2L alpha + (L+1) P m beta"};

}  // namespace commtune
