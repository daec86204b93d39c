// Ring reduce-scatter: the partial sum of each part travels around the ring and ends at its owner.
//
//   step k:  rank r sends its partial sum of part r-k-1 to r+1, receives that of part r-k-2 from
//            r-1 and adds its own; after P-1 steps that part is r
//
//   cost: (P-1)(alpha + m beta + m gamma), m bytes in each rank's part
//   Wins for long vectors at any P. Partial sums live in two scratch slots, so an input shared with
//   the output is intact until its last read.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto part = [&](Rank of) { return static_cast<std::uint32_t>(around(of, size)); };
  ScheduleBuilder program(Collective::reduce_scatter, shape, 1);
  if (size == 1) program.copy(in(0), out(0));
  Slice partial = in(part(rank - 1));
  for (Rank k = 0; k < size - 1; ++k) {
    const std::uint32_t incoming = part(rank - k - 2);
    const Slice landing = tmp(static_cast<std::uint32_t>(k % 2), incoming);
    program.send(around(rank + 1, size), partial);
    program.recv(around(rank - 1, size), landing);
    program.reduce(in(incoming), landing, k == size - 2 ? out(incoming) : landing);
    partial = landing;
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_scatter_ring{
    .collective = Collective::reduce_scatter,
    .name = "ring",
    .generate = generate,
    .tunables = "",
    .summary =
        "partial sums travel around a ring, (P-1)(alpha + m beta + m gamma) "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "(P-1)(alpha + m beta + m gamma)"};

}  // namespace commtune
