// Chain allreduce: the partial sums travel down the chain of ranks to rank 0, the result travels
// back. The vector is `segments` blocks.
//
//   up:    for each segment, rank r receives the sum over the ranks above, adds its own and sends
//          the sum to r-1
//   down:  for each segment, rank r receives the result from r-1 and sends it to r+1
//
//   cost: 2(P-2+S)(alpha + n/S beta) + (P-2+S) n/S gamma in S segments
//   Wins for very long vectors on few ranks that are wired in a line. The sum exists once and is
//   copied: identical bits everywhere, and the order of ranks is kept.
//   Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel & Dongarra, Cluster Comput. 10(2), 2007.
#include "collectives/algorithms/reduction_tree.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Tree chain = chain_tree({shape.rank, shape.size, 0, shape.in_place}, 1);
  return reduce_and_broadcast(shape, std::span(&chain, 1), params.segments, 2);
}

}  // namespace

extern constinit const Algorithm allreduce_chain{
    .collective = Collective::allreduce,
    .name = "chain",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "pipelined reduce along a chain to rank 0 and back, 2(P-2+S)(alpha + n/S beta) "
        "(Pjesivac-Grbovic et al. 2007)",
    .cost = "2(P-2+S)(alpha + n/S beta) + (P-2+S) n/S gamma, S segments"};

}  // namespace commtune
