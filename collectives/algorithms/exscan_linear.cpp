// Linear exclusive scan: the prefix sum runs through the ranks in segments.
//
//   Rank r receives each segment of its result from r-1, adds its own behind it and sends the sum
//   to r+1 while it receives the next.
//
//   cost: (P + s - 2)(alpha + n/s (beta + gamma)), s segments
//   Wins for long vectors on few ranks: every port carries the vector once.
//   Sanders & Traff, Parallel prefix (scan) algorithms for MPI, EuroPVM/MPI 2006.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank rank = shape.rank;
  const bool last = rank + 1 == shape.size;
  ScheduleBuilder program(Collective::exscan, shape, params.segments);
  for (std::uint32_t s = 0; s < params.segments; ++s) {
    if (rank == 0) {
      if (!last) program.send(1, in(s));
      continue;
    }
    // In place the result takes the input's place, which must wait until the input is added.
    const Slice result = shape.in_place && !last ? tmp(2 + s % 2, s) : out(s);
    program.recv(rank - 1, result);
    if (last) continue;
    program.reduce(result, in(s), tmp(s % 2, s));
    program.send(rank + 1, tmp(s % 2, s));
    if (shape.in_place) program.copy(result, out(s));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm exscan_linear{
    .collective = Collective::exscan,
    .name = "linear",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "sums run through the ranks, (P + s - 2)(alpha + n/s (beta + gamma)) "
        "(Sanders & Traff 2006)",
    .cost = "(P + s - 2)(alpha + n/s (beta + gamma))"};

}  // namespace commtune
