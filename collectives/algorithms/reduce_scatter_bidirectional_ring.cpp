// Bidirectional ring reduce-scatter: the sum of each part comes to its owner from both sides, half
// of the ranks on each.
//
//   step k, F = ceil((P-1)/2) ranks before the owner, B = floor((P-1)/2) behind it:
//     rank r sends the partial sum of part r+F-k to r+1, receives that of part r+F-k-1 from r-1 and
//     adds its own; likewise part r-B+k to r-1 and part r-B+k+1 from r+1
//
//   cost: P/2 alpha + (P-1) m (beta + gamma), (P-1)/2 m beta where both directions move at once;
//         m bytes in each rank's part
//   Wins for long vectors on links that carry both directions at full speed, with half the steps of
//   the ring.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

/// The sums that travel in one direction: `ahead` is 1 or -1, over `hops` ranks.
struct Direction {
  Rank ahead, hops;
  std::uint32_t slot;  ///< of two in turn
  Slice sum;           ///< to be sent next, or arrived last
};

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto part = [&](Rank of) { return static_cast<std::uint32_t>(around(of, size)); };
  const auto mine = static_cast<std::uint32_t>(rank);
  ScheduleBuilder program(Collective::reduce_scatter, shape, 1);
  if (size == 1) program.copy(in(0), out(0));
  const Rank forward = size / 2, backward = (size - 1) / 2;
  Direction directions[] = {{1, forward, 0, in(part(rank + forward))},
                            {-1, backward, 2, in(part(rank - backward))}};
  for (Rank k = 0; k < forward; ++k) {
    for (Direction& way : directions) {
      if (k >= way.hops) continue;
      const std::uint32_t incoming = part(rank + way.ahead * (way.hops - k - 1));
      const Slice landing = tmp(way.slot + static_cast<std::uint32_t>(k % 2), incoming);
      program.send(around(rank + way.ahead, size), way.sum);
      program.recv(around(rank - way.ahead, size), landing);
      if (incoming != mine) program.reduce(landing, in(incoming), landing);
      way.sum = landing;
    }
  }
  if (forward > 0) program.reduce(directions[0].sum, in(mine), out(mine));
  if (backward > 0) program.reduce(out(mine), directions[1].sum, out(mine));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_scatter_bidirectional_ring{
    .collective = Collective::reduce_scatter,
    .name = "bidirectional_ring",
    .generate = generate,
    .tunables = "",
    .summary =
        "partial sums come to the owner from both sides of a ring, "
        "P/2 alpha + (P-1) m (beta + gamma) (Chan et al. 2007)",
    .cost = "P/2 alpha + (P-1) m (beta + gamma)"};

}  // namespace commtune
