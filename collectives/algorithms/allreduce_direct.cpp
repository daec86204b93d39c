// Direct allreduce ("one-shot"): every rank sends its whole vector to every other rank at once and
// adds up what arrives.
//
//   all at once:  rank r sends its input to ranks r+1, r+2, ... around the ring
//   step k:       rank r receives the input of rank k and adds it to the sum of those before
//
//   cost: (P-1)(alpha + n beta + n gamma) with one port per rank, about alpha when messages overlap
//   Wins for very short vectors on few ranks, where one network latency is all there is, and in
//   shared memory, where receiving and adding are one pass over the senders' memory. Every rank
//   adds the same operands in the same order: identical bits everywhere, and the order of ranks is
//   kept.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include "collectives/algorithms/exchange.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  ScheduleBuilder program(Collective::allreduce, shape, 1);
  if (shape.size == 1) {
    program.copy(in(0), out(0));
    return std::move(program).finish();
  }
  for (Rank k = 1; k < shape.size; ++k) {
    program.send(around(shape.rank + k, shape.size), in(0));
  }
  receive_in_order(program, shape, in(0), 0, out(0));
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
