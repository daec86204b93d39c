// Circulant graph broadcast: the vector in s segments in the fewest rounds that one-port ranks can
// do it in, for any P.
//
//   Ranks are numbered v = r - root; q = ceil(log2 P). In round i rank v sends one segment to v + d
//   and receives one from v - d, d the (i mod q)-th of the distances 1, ..., P/4, P/2, halves
//   rounded up. Every rank finds out by itself which ones.
//
//   cost: (q + s - 1)(alpha + n/s beta)
//   Wins for vectors of any length but the longest at any P: with one segment it is a binomial
//   tree, with many every port carries the vector once, as in a chain, after log2 P rounds.
//   Traff, arXiv:2205.10072, 2022.
#include "collectives/algorithms/circulant_rounds.hpp"
#include "collectives/algorithms/trees.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank node = tree_node(shape);
  ScheduleBuilder program(Collective::broadcast, shape, params.segments);
  for (const auto& round : circulant_rounds(node, shape.size, params.segments)) {
    const auto sent = static_cast<std::uint32_t>(round.sent);
    const auto received = static_cast<std::uint32_t>(round.received);
    if (round.sent >= 0) {
      program.send(tree_rank(shape, round.to), node == 0 ? in(sent) : out(sent));
    }
    if (round.received >= 0) program.recv(tree_rank(shape, round.from), out(received));
  }
  if (node == 0) program.copy(in(0, params.segments), out(0, params.segments));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm broadcast_circulant{
    .collective = Collective::broadcast,
    .name = "circulant",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "fewest rounds for s segments at any P, (log2 P + s - 1)(alpha + n/s beta) (Traff 2022)",
    .cost = "(L + s - 1)(alpha + n/s beta)"};

}  // namespace commtune
