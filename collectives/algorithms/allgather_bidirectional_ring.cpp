// Bidirectional ring allgather: every part travels half way around the ring in both directions.
//
//   step k:  rank r sends part r-k to r+1 and part r+k to r-1, receives part r-k-1 from r-1 and
//            part r+k+1 from r+1; at even P the last step uses one direction only
//
//   cost: P/2 alpha + (P-1) m beta, (P-1)/2 m beta where both directions move at once; m bytes in
//         each rank's part
//   Wins for long parts on links that carry both directions at full speed, with half the steps of
//   the ring.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto part = [&](Rank of) { return static_cast<std::uint32_t>(around(of, size)); };
  const Rank next = around(rank + 1, size), previous = around(rank - 1, size);
  ScheduleBuilder program(Collective::allgather, shape, 1);
  for (Rank k = 0; k < size / 2; ++k) {
    program.send(next, k == 0 ? in(part(rank)) : out(part(rank - k)));
    program.recv(previous, out(part(rank - k - 1)));
    if (2 * (k + 1) == size) break;
    program.send(previous, k == 0 ? in(part(rank)) : out(part(rank + k)));
    program.recv(next, out(part(rank + k + 1)));
  }
  program.copy(in(part(rank)), out(part(rank)));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allgather_bidirectional_ring{
    .collective = Collective::allgather,
    .name = "bidirectional_ring",
    .generate = generate,
    .tunables = "",
    .summary =
        "parts travel half way around a ring in both directions, P/2 alpha + (P-1) m beta "
        "(Chan et al. 2007)",
    .cost = "P/2 alpha + (P-1) m beta"};

}  // namespace commtune
