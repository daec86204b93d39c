// Direct allgather: every rank sends its part to every other rank at once.
//
//   step k (1..P-1):  rank r sends its part to r+k and receives part r-k from r-k
//
//   cost: (P-1)(alpha + m beta) with one port per rank, about alpha when messages overlap; m bytes
//         in each rank's part
//   Wins on few ranks and where many messages travel at once: no part waits for another.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto part = [&](Rank of) { return static_cast<std::uint32_t>(around(of, size)); };
  ScheduleBuilder program(Collective::allgather, shape, 1);
  for (Rank k = 1; k < size; ++k) {
    program.send(around(rank + k, size), in(part(rank)));
    program.recv(around(rank - k, size), out(part(rank - k)));
  }
  program.copy(in(part(rank)), out(part(rank)));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allgather_direct{
    .collective = Collective::allgather,
    .name = "direct",
    .generate = generate,
    .tunables = "",
    .summary =
        "every rank sends its part to every other at once, (P-1)(alpha + m beta) (Chan et al. "
        "2007)",
    .cost = "(P-1)(alpha + m beta)"};

}  // namespace commtune
