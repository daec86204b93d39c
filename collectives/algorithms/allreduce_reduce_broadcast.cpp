// Reduce and broadcast: a binomial tree gathers the sum at rank 0, the same tree spreads it.
//
//   up, step k:    rank r with bit k set sends its partial sum to r-2^k and leaves; the others
//                  receive from r+2^k, if it exists, and add
//   down, step k:  the same messages in reverse, from the widest distance to 1
//
//   cost: 2 ceil(log2 P)(alpha + n beta) + ceil(log2 P) n gamma
//   Wins rarely; the baseline that other allreduces must beat. The sum exists once, at rank 0, and
//   is copied: identical bits everywhere, and the order of ranks is kept.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  ScheduleBuilder program(Collective::allreduce, shape, 1);
  if (size == 1) {
    program.copy(in(0), out(0));
    return std::move(program).finish();
  }
  Slice partial = in(0);
  std::uint32_t slot = 0;
  Rank distance = 1;
  for (; distance < size && (rank & distance) == 0; distance *= 2) {
    if (rank + distance >= size) continue;
    program.recv(rank + distance, tmp(slot, 0));
    program.reduce(partial, tmp(slot, 0), out(0));
    partial = out(0);
    slot = 1 - slot;
  }
  if (rank != 0) {
    program.send(rank - distance, partial);
    program.recv(rank - distance, out(0));
  }
  for (Rank child = distance / 2; child > 0; child /= 2) {
    if (rank + child < size) program.send(rank + child, out(0));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allreduce_reduce_broadcast{
    .collective = Collective::allreduce,
    .name = "reduce_broadcast",
    .generate = generate,
    .tunables = "",
    .summary =
        "binomial reduce to rank 0, binomial broadcast, 2 log2 P (alpha + n beta) "
        "(Chan et al. 2007)",
    .cost = "2L (alpha + n beta) + L n gamma"};

}  // namespace commtune
