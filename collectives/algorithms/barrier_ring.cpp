// Double ring barrier: a token runs around the ring twice; a rank leaves when it sees it again.
//
//   round 1:  the token has passed all ranks once it is back at rank 0
//   round 2:  it tells the others
//
//   cost: (2P - 1) alpha
//   Wins rarely; only neighbours talk, one message at a time.
//   Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel & Dongarra, Cluster Comput. 10(2), 2007.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank rank = shape.rank, size = shape.size;
  ScheduleBuilder program(Collective::barrier, shape, 0);
  if (size == 1) return std::move(program).finish();
  const Rank next = around(rank + 1, size), previous = around(rank - 1, size);
  const auto pass = [&](bool waits, bool signals) {
    if (waits) program.wait_signal(previous);
    program.fence();
    if (signals) program.signal(next);
    program.fence();
  };
  if (rank == 0) pass(false, true);
  pass(true, true);
  if (rank != 0) pass(true, next != 0);
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm barrier_ring{
    .collective = Collective::barrier,
    .name = "ring",
    .generate = generate,
    .tunables = "",
    .summary = "a token runs around the ring twice, (2P - 1) alpha (Pjesivac-Grbovic et al. 2007)",
    .cost = "(2P - 1) alpha"};

}  // namespace commtune
