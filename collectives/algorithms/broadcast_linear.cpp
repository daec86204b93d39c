// Linear broadcast: the root sends the whole vector to every other rank, one after another.
//
//   cost: (P-1)(alpha + n beta), all of it on the root's port
//   Wins for 2 or 3 ranks, and for short vectors where the messages overlap.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  ScheduleBuilder program(Collective::broadcast, shape, 1);
  if (shape.rank != shape.root) {
    program.recv(shape.root, out(0));
    return std::move(program).finish();
  }
  for (Rank k = 1; k < shape.size; ++k) program.send(around(shape.root + k, shape.size), in(0));
  program.copy(in(0), out(0));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm broadcast_linear{
    .collective = Collective::broadcast,
    .name = "linear",
    .generate = generate,
    .tunables = "",
    .summary = "root sends to each rank in turn, (P-1)(alpha + n beta) (Chan et al. 2007)",
    .cost = "(P-1)(alpha + n beta)"};

}  // namespace commtune
