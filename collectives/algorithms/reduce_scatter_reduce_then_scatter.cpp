// Reduce then scatter: a binomial tree sums the whole vector at rank 0, the same tree hands out the
// parts.
//
//   up, step k:    rank r with bit k set sends its partial sum to r-2^k and leaves; the others
//                  receive from r+2^k, if it exists, and add
//   down, step k:  the same tree in reverse, from the widest distance to 1: rank r gets the parts
//                  r, ..., r+2^k-1 from r-2^k
//
//   cost: 2 ceil(log2 P) alpha + (ceil(log2 P) + 1) n beta + ceil(log2 P) n gamma, n bytes in the
//         whole vector
//   Wins rarely; the baseline that other reduce-scatters must beat. The order of ranks is kept.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include <algorithm>

#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto mine = static_cast<std::uint32_t>(rank), parts = static_cast<std::uint32_t>(size);
  ScheduleBuilder program(Collective::reduce_scatter, shape, 1);
  Slice sum = in(0, parts);
  std::uint32_t slot = 0;
  Rank distance = 1;
  for (; distance < size && (rank & distance) == 0; distance *= 2) {
    if (rank + distance >= size) continue;
    const Slice landing = tmp(slot, 0, parts);
    program.recv(rank + distance, landing);
    program.reduce(sum, landing, landing);
    sum = landing;
    slot = 1 - slot;
  }
  const auto held = [&](Rank of, Rank span) {
    return static_cast<std::uint32_t>(std::min(span, size - of));
  };
  if (rank != 0) {
    program.send(rank - distance, sum);
    const std::uint32_t count = held(rank, distance);
    sum = count == 1 ? out(mine) : tmp(2, mine, count);
    program.recv(rank - distance, sum);
  }
  for (Rank child = distance / 2; child > 0; child /= 2) {
    const Rank to = rank + child;
    if (to >= size) continue;
    program.send(to, Slice{sum.buffer, sum.slot, static_cast<std::uint32_t>(to), held(to, child)});
  }
  program.copy(Slice{sum.buffer, sum.slot, mine, 1}, out(mine));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_scatter_reduce_then_scatter{
    .collective = Collective::reduce_scatter,
    .name = "reduce_then_scatter",
    .generate = generate,
    .tunables = "",
    .summary =
        "binomial reduce to rank 0, binomial scatter, 2L alpha + (L+1) n beta + L n gamma "
        "(Chan et al. 2007)",
    .cost = "2L alpha + (L+1) n beta + L n gamma"};

}  // namespace commtune
