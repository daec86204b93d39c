// Paired send-receive: even ranks send first and receive then, odd ranks the other way round, so no
// rank sends and receives at once.
//
//   phase 1:  every even rank sends its part to the odd one after it
//   phase 2:  every odd rank sends its part to the next; for odd P the last rank sends to rank 0
//             between the two
//
//   cost: 2(alpha + m beta) for even P, 3(alpha + m beta) otherwise, m bytes in each rank's part
//   Wins where links or memory are shared by the two directions. In place only odd ranks need
//   scratch.
//   Hockney, Parallel Comput. 20(3), 1994.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size;
  const Rank next = around(shape.rank + 1, size), previous = around(shape.rank - 1, size);
  const auto outgoing = static_cast<std::uint32_t>(shape.rank);
  const auto incoming = static_cast<std::uint32_t>(previous);
  ScheduleBuilder program(Collective::sendrecv, shape, 1);
  if (size == 1) {
    program.copy(in(outgoing), out(incoming));
    return std::move(program).finish();
  }
  if (shape.rank % 2 == 0) {
    program.send(next, in(outgoing));
    program.fence();
    program.recv(previous, out(incoming));
    return std::move(program).finish();
  }
  const Slice landing = shape.in_place ? tmp(0, incoming) : out(incoming);
  program.recv(previous, landing);
  program.fence();
  program.send(next, in(outgoing));
  if (shape.in_place) program.copy(landing, out(incoming));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm sendrecv_paired{
    .collective = Collective::sendrecv,
    .name = "paired",
    .generate = generate,
    .tunables = "",
    .summary = "even ranks send first, odd ranks receive first, 2(alpha + m beta) (Hockney 1994)",
    .cost = "2(alpha + m beta)"};

}  // namespace commtune
