// Direct send-receive: every rank sends its part to the next and receives that of the previous one
// at once.
//
//   In place the arriving part waits in scratch, segment by segment, until the rank's own is sent.
//
//   cost: alpha + m beta, m bytes in each rank's part
//   Wins where ports send and receive at once; the usual case.
//   Hockney, Parallel Comput. 20(3), 1994.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size, segments = static_cast<Rank>(params.segments);
  const Rank next = around(shape.rank + 1, size), previous = around(shape.rank - 1, size);
  ScheduleBuilder program(Collective::sendrecv, shape, params.segments);
  for (Rank s = 0; s < segments; ++s) {
    const auto outgoing = static_cast<std::uint32_t>(shape.rank * segments + s);
    const auto incoming = static_cast<std::uint32_t>(previous * segments + s);
    if (size == 1) {
      program.copy(in(outgoing), out(incoming));
      continue;
    }
    const auto slot = static_cast<std::uint32_t>(s % 2);
    const Slice landing = shape.in_place ? tmp(slot, incoming) : out(incoming);
    program.send(next, in(outgoing));
    program.recv(previous, landing);
    if (shape.in_place) program.copy(landing, out(incoming));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm sendrecv_direct{
    .collective = Collective::sendrecv,
    .name = "direct",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "send to the next and receive from the previous at once, alpha + m beta (Hockney 1994)",
    .cost = "alpha + m beta"};

}  // namespace commtune
