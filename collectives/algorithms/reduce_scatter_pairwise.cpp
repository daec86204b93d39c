// Pairwise reduce-scatter: the owner of each part gets one contribution after another.
//
//   step k (1..P-1):  rank r sends part r+k of its input to r+k, receives part r from r-k and adds
//                     it
//
//   cost: (P-1)(alpha + m beta + m gamma), m bytes in each rank's part
//   Wins for long parts at any P where all pairs of ranks are equally near: each contribution
//   crosses the network once, three parts of scratch are enough. Contributions of lower and of
//   higher ranks are summed apart and put together at the end, so the order of ranks is kept.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto mine = static_cast<std::uint32_t>(rank);
  ScheduleBuilder program(Collective::reduce_scatter, shape, 1);
  if (size == 1) program.copy(in(0), out(0));
  const Slice higher = tmp(2, mine);
  Slice lower = in(mine);  // of ranks up to this one
  for (Rank k = 1; k < size; ++k) {
    const Rank to = around(rank + k, size), from = around(rank - k, size);
    const Slice landing = from == size - 1 ? higher : tmp(static_cast<std::uint32_t>(k % 2), mine);
    program.send(to, in(static_cast<std::uint32_t>(to)));
    program.recv(from, landing);
    if (from < rank) {
      program.reduce(landing, lower, out(mine));
      lower = out(mine);
    } else if (from < size - 1) {
      program.reduce(landing, higher, higher);
    }
  }
  if (rank < size - 1) program.reduce(lower, higher, out(mine));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_scatter_pairwise{
    .collective = Collective::reduce_scatter,
    .name = "pairwise",
    .generate = generate,
    .tunables = "",
    .summary =
        "one contribution after another arrives at the owner, (P-1)(alpha + m beta + m gamma) "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "(P-1)(alpha + m beta + m gamma)"};

}  // namespace commtune
