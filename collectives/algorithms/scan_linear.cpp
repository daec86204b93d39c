// Linear scan: the prefix sum runs through the ranks in segments.
//
//   Rank r receives each segment of the sum of ranks 0..r-1 from r-1, adds its own behind it and
//   sends the result to r+1 while it receives the next.
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
  ScheduleBuilder program(Collective::scan, shape, params.segments);
  for (std::uint32_t s = 0; s < params.segments; ++s) {
    if (rank > 0) {
      program.recv(rank - 1, tmp(s % 2, s));
      program.reduce(tmp(s % 2, s), in(s), out(s));
    }
    if (rank + 1 < shape.size) program.send(rank + 1, rank == 0 ? in(s) : out(s));
  }
  if (rank == 0) program.copy(in(0, params.segments), out(0, params.segments));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm scan_linear{
    .collective = Collective::scan,
    .name = "linear",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "sums run through the ranks, (P + s - 2)(alpha + n/s (beta + gamma)) "
        "(Sanders & Traff 2006)",
    .cost = "(P + s - 2)(alpha + n/s (beta + gamma))"};

}  // namespace commtune
