// Swing allgather: recursive doubling in which partners alternate sides around the ring, at
// distances ..., 11, 5, 3, 1, 1 instead of powers of two.
//
//   fold:    the even rank of each extra pair sends its part to the odd one
//   step s = L-1, ..., 0:  node v exchanges all parts it holds with v + rho(s) (v even) or
//            v - rho(s) (v odd), rho = 1, -1, 3, -5, 11, ...; most data goes to near nodes
//   unfold:  the odd rank of each pair returns the parts that the even one lacks
//
//   cost: log2 P alpha + (P-1) m beta for P = 2^i, m bytes in each rank's part; otherwise
//         2 alpha + (P+1) m beta more
//   Wins on rings and tori, where the sum of distances is what messages compete for.
//   De Sensi, Bonato, Saam & Hoefler, NSDI 2024.
#include "collectives/algorithms/parts.hpp"
#include "collectives/algorithms/swing.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto mine = static_cast<std::uint32_t>(rank);
  const Fold fold(size);
  ScheduleBuilder program(Collective::allgather, shape, 1);
  program.copy(in(mine), out(mine));
  // The unfolding leaves out what the idle rank sent.
  const auto outside = [&](Rank idle) {
    return ring_runs_outside(BufferId::output, idle, 1, size);
  };
  if (fold.idle(rank)) {
    program.send(rank + 1, in(mine));
    program.recv(rank + 1, outside(rank));
    return std::move(program).finish();
  }
  if (fold.paired(rank)) program.recv(rank - 1, out(mine - 1));
  const Swing swing(fold.cube);
  const Rank node = fold.node(rank);
  for (std::size_t step = swing.steps(); step-- > 0;) {
    const Rank other = swing.peer(node, step), peer = fold.rank(other);
    program.send(peer, node_runs(BufferId::output, fold, swing.reached(node, step + 1)));
    program.recv(peer, node_runs(BufferId::output, fold, swing.reached(other, step + 1)));
  }
  if (fold.paired(rank)) program.send(rank - 1, outside(rank - 1));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allgather_swing{
    .collective = Collective::allgather,
    .name = "swing",
    .generate = generate,
    .tunables = "",
    .summary =
        "recursive doubling with partners on alternating sides of a ring, "
        "L alpha + (P-1) m beta (De Sensi et al. 2024)",
    .cost = "L alpha + (P-1) m beta"};

}  // namespace commtune
