// K-nomial scatter-allgather allreduce: Rabenseifner's algorithm in groups of k instead of pairs, k
// the radix. Q = j k^i is the largest such number up to P, 1 <= j < k; the vector is Q blocks.
//
//   fold:              the even rank of each of P-Q pairs sends its vector to the odd one
//   scatter step i:    the nodes whose numbers differ in digit i alone, base k, share one range of
//                      blocks; they cut it in k, and each adds up the others' copies of its piece
//   allgather step i:  the same groups, last to first, exchange their finished pieces
//   unfold:            the odd rank of each pair returns the result
//
//   cost: 2 ceil(log_k P)(k-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma for P = j k^i, of which a
//         step's k-1 alphas overlap where ports allow
//   Wins for middle-sized and long vectors. The largest pieces go to the nearest ranks. Every block
//   is summed at one node and then copied: identical bits everywhere. Groups before step i stand
//   for consecutive ranks, so the order of ranks is kept. Wilkins, Thakur, Gropp et al.,
//   Generalized Collective Algorithms for the Exascale Era, IEEE CLUSTER 2023.
#include "collectives/algorithms/exchange.hpp"
#include "collectives/algorithms/trees.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const std::vector<Rank> factors = largest_factors(shape.size, params.radix);
  const Fold fold(shape.size, product(factors));
  const auto blocks = static_cast<std::uint32_t>(fold.cube);
  return folded_allreduce(
      shape, fold, blocks, [&](ScheduleBuilder& program, Rank node, BufferId partial) {
        scatter_and_gather(program, hypercube_rounds(fold, node, factors), blocks, partial);
      });
}

}  // namespace

extern constinit const Algorithm allreduce_knomial_scatter_allgather{
    .collective = Collective::allreduce,
    .name = "knomial_scatter_allgather",
    .generate = generate,
    .tunables = "radix",
    .summary =
        "reduce-scatter and allgather in groups of k ranks, "
        "2 ceil(log_k P)(k-1) alpha + 2(P-1)/P n beta (Wilkins et al. 2023)",
    .cost = "2 ceil(log_k P)(k-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma",
    .needs = needs_radix_of_two,
    .refuse = refuse_radix_below_two};

}  // namespace commtune
