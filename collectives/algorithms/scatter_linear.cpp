// Linear scatter: the root sends every rank its part, one after another.
//
//   cost: (P-1)(alpha + m beta), m bytes in each rank's part
//   Wins for long parts: every part crosses the network once, and the root's port is always busy.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const auto mine = static_cast<std::uint32_t>(shape.rank);
  ScheduleBuilder program(Collective::scatter, shape, 1);
  if (shape.rank != shape.root) {
    program.recv(shape.root, out(mine));
    return std::move(program).finish();
  }
  for (Rank k = 1; k < shape.size; ++k) {
    const Rank peer = around(shape.root + k, shape.size);
    program.send(peer, in(static_cast<std::uint32_t>(peer)));
  }
  program.copy(in(mine), out(mine));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm scatter_linear{
    .collective = Collective::scatter,
    .name = "linear",
    .generate = generate,
    .tunables = "",
    .summary = "root sends to each rank in turn, (P-1)(alpha + m beta) (Chan et al. 2007)",
    .cost = "(P-1)(alpha + m beta)"};

}  // namespace commtune
