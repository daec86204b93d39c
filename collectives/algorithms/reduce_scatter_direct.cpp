// Direct reduce-scatter: every rank sends each other rank the part it owns, at once, and adds up
// what arrives.
//
//   step k (1..P-1):  rank r sends part r+k of its input to r+k and receives part r from r-k
//   then:             rank r adds the P contributions in the order of ranks 0, 1, ..., P-1
//
//   cost: (P-1)(alpha + m beta + m gamma) with one port per rank, m bytes in each rank's part;
//         about alpha + m beta when messages overlap
//   Wins on few ranks, and in shared memory, where the additions are one pass over P sources. Holds
//   P-1 parts in scratch. The order of ranks is kept.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto mine = static_cast<std::uint32_t>(rank);
  ScheduleBuilder program(Collective::reduce_scatter, shape, 1);
  if (size == 1) {
    program.copy(in(0), out(0));
    return std::move(program).finish();
  }
  const auto contribution = [&](Rank of) {
    if (of == rank) return in(mine);
    return tmp(static_cast<std::uint32_t>(of < rank ? of : of - 1), mine);
  };
  for (Rank k = 1; k < size; ++k) {
    const Rank to = around(rank + k, size), from = around(rank - k, size);
    program.send(to, in(static_cast<std::uint32_t>(to)));
    program.recv(from, contribution(from));
  }
  // In place the output holds this rank's contribution until its turn.
  Slice sum = contribution(0);
  for (Rank other = 1; other < size; ++other) {
    const Slice partial = other < rank ? contribution(0) : out(mine);
    program.reduce(sum, contribution(other), partial);
    sum = partial;
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_scatter_direct{
    .collective = Collective::reduce_scatter,
    .name = "direct",
    .generate = generate,
    .tunables = "",
    .summary =
        "every rank sends each other its part at once and adds in rank order, "
        "(P-1)(alpha + m beta + m gamma) (Chan et al. 2007)",
    .cost = "(P-1)(alpha + m beta + m gamma)"};

}  // namespace commtune
