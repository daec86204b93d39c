// Binomial tree reduce: the number of partial sums halves in every step.
//
//   Ranks are numbered v = r - root. Rank v receives from v + 1, v + 2, v + 4, ... up to its lowest
//   set bit 2^j, adds each, and sends the sum to v - 2^j.
//
//   cost: ceil(log2 P)(alpha + n beta + n gamma)
//   Wins for short vectors. Root 0 keeps the order of ranks.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  return sum_segments(shape, binomial_tree(shape), params.segments, 2);
}

}  // namespace

extern constinit const Algorithm reduce_binomial{
    .collective = Collective::reduce,
    .name = "binomial",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "binomial tree, log2 P (alpha + n beta + n gamma) (Thakur, Rabenseifner & Gropp 2005)",
    .cost = "L (alpha + n beta + n gamma)"};

}  // namespace commtune
