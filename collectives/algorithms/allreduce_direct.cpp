// Direct allreduce: every rank sends its whole vector to every other rank at once and adds up what
// arrives.
//
//   step k (1..P-1):  rank r sends its input to r+k and receives the input of r-k
//   then:             rank r adds the P inputs in the order of ranks 0, 1, ..., P-1
//
//   cost: (P-1)(alpha + n beta + n gamma) with one port per rank, about alpha when messages overlap
//   Wins for very short vectors on few ranks, where one network latency is all there is. Every rank
//   adds the same operands in the same order: identical bits everywhere, and the order of ranks is
//   kept.
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
  const auto contribution = [&](Rank of) {
    if (of == rank) return in(0);
    return tmp(static_cast<std::uint32_t>(of < rank ? of : of - 1), 0);
  };
  for (Rank k = 1; k < size; ++k) {
    program.send(around(rank + k, size), in(0));
    program.recv(around(rank - k, size), contribution(around(rank - k, size)));
  }
  // Partial sums stay in scratch: only the last sum may overwrite an input that is still being
  // sent.
  Slice sum = contribution(0);
  for (Rank other = 1; other < size; ++other) {
    const Slice operand = contribution(other);
    const Slice partial = other == size - 1                 ? out(0)
                          : sum.buffer == BufferId::scratch ? sum
                                                            : operand;
    program.reduce(sum, operand, partial);
    sum = partial;
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allreduce_direct{
    .collective = Collective::allreduce,
    .name = "direct",
    .generate = generate,
    .tunables = "",
    .summary =
        "every rank sends to every other at once and adds in rank order, "
        "(P-1)(alpha + n beta + n gamma) (Chan et al. 2007)",
    .cost = "(P-1)(alpha + n beta + n gamma)"};

}  // namespace commtune
