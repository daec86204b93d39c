// Recursive multiplying allreduce: recursive doubling in groups of k instead of pairs, k the radix.
// Q = j k^i is the largest such number up to P, 1 <= j < k.
//
//   fold:    the even rank of each of P-Q pairs sends its vector to the odd one, which adds it
//   step i:  the nodes whose numbers differ in digit i alone, base k, all exchange their partial
//            results and add them up in the order of nodes; the last digit has j values
//   unfold:  the odd rank of each pair returns the result
//
//   cost: ceil(log_k P)(k-1)(alpha + n beta + n gamma), of which a step's k-1 alphas overlap where
//         ports allow; plus 2 alpha + 2 n beta + n gamma if P isn't j k^i
//   Wins for short vectors where several messages can be in flight at once. Everybody in a group
//   adds the same operands in the same order: identical bits, and the order of ranks is kept.
//   Ruefenacht, Bull & Booth, Parallel Comput. 69, 2017.
#include "collectives/algorithms/exchange.hpp"
#include "collectives/algorithms/trees.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const std::vector<Rank> factors = largest_factors(shape.size, params.radix);
  const Fold fold(shape.size, product(factors));
  return folded_allreduce(
      shape, fold, 1, [&](ScheduleBuilder& program, Rank node, BufferId partial) {
        exchange_vectors(program, hypercube_rounds(fold, node, factors), partial);
      });
}

}  // namespace

extern constinit const Algorithm allreduce_recursive_multiplying{
    .collective = Collective::allreduce,
    .name = "recursive_multiplying",
    .generate = generate,
    .tunables = "radix",
    .summary =
        "exchange whole vectors in groups of k ranks, ceil(log_k P)(k-1)(alpha + n beta) "
        "(Ruefenacht, Bull & Booth 2017)",
    .cost = "ceil(log_k P)(k-1)(alpha + n beta + n gamma)",
    .needs = needs_radix_of_two,
    .refuse = refuse_radix_below_two};

}  // namespace commtune
