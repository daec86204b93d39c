// Circulant graph reduce: the circulant graph broadcast in reverse, each segment summed along the
// tree that it would be spread on.
//
//   Ranks are numbered v = r - root; q = ceil(log2 P). In round i, from the last to the first, rank
//   v sends the sum of one segment to v - d and adds one that it receives from v + d, d the
//   (i mod q)-th of the distances 1, ..., P/4, P/2, halves rounded up.
//
//   cost: (q + s - 1)(alpha + n/s (beta + gamma)), s segments
//   Wins for vectors of any length but the longest at any P, as the broadcast does.
//   Traff, arXiv:2205.10072, 2022.
#include "collectives/algorithms/circulant_rounds.hpp"
#include "collectives/algorithms/trees.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank node = tree_node(shape);
  ScheduleBuilder program(Collective::reduce, shape, params.segments);
  if (shape.size == 1) program.copy(in(0, params.segments), out(0, params.segments));
  std::vector<Slice> sums;
  for (std::uint32_t segment = 0; segment < params.segments; ++segment) sums.push_back(in(segment));
  std::uint32_t arrivals = 0;
  const auto rounds = circulant_rounds(node, shape.size, params.segments);
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
    if (round->received >= 0) {
      program.send(tree_rank(shape, round->from), sums[static_cast<std::size_t>(round->received)]);
    }
    if (round->sent < 0) continue;
    const auto segment = static_cast<std::uint32_t>(round->sent);
    const Rank peer = tree_rank(shape, round->to);
    const Slice arrived = tmp(arrivals++ % 2, segment);
    const Slice sum = node == 0 ? out(segment) : tmp(2 + segment, segment);
    program.recv(peer, arrived);
    if (peer < shape.rank) {
      program.reduce(arrived, sums[segment], sum);
    } else {
      program.reduce(sums[segment], arrived, sum);
    }
    sums[segment] = sum;
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_circulant{
    .collective = Collective::reduce,
    .name = "circulant",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "fewest rounds for s segments at any P, (log2 P + s - 1)(alpha + n/s (beta + gamma)) "
        "(Traff 2022)",
    .cost = "(L + s - 1)(alpha + n/s (beta + gamma))"};

}  // namespace commtune
