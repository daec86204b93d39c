// Ring allgather: every part travels once around the ring.
//
//   step k:  rank r sends part r-k to r+1 and receives part r-k-1 from r-1
//
//   cost: (P-1)(alpha + m beta), m bytes in each rank's part
//   Wins for long parts: only neighbours talk and every port is busy in every step.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  ScheduleBuilder program(Collective::allgather, shape, 1);
  const auto part = [&](Rank of) { return static_cast<std::uint32_t>(around(of, size)); };
  for (Rank k = 0; k < size - 1; ++k) {
    program.send(around(rank + 1, size), k == 0 ? in(part(rank)) : out(part(rank - k)));
    program.recv(around(rank - 1, size), out(part(rank - k - 1)));
  }
  program.copy(in(part(rank)), out(part(rank)));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allgather_ring{
    .collective = Collective::allgather,
    .name = "ring",
    .generate = generate,
    .tunables = "",
    .summary =
        "parts travel around a ring, (P-1)(alpha + m beta) "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "(P-1)(alpha + m beta)"};

}  // namespace commtune
