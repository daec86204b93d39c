// K-nomial tree gather: of k ranks that hold parts, one receives those of the others in every
// round.
//
//   Ranks are numbered v = r - root, in digits of base k. Rank v receives the parts of the subtrees
//   of the ranks that differ from it in one digit below its lowest digit that is not 0, and sends
//   all it holds in one message to the rank with 0 for that digit.
//
//   cost: (k-1) ceil(log_k P) alpha + (P-1) m beta, m bytes in each rank's part
//   Wins over the binomial tree (k = 2) for short parts where messages to one rank overlap.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  return gather_knomial_parts(shape, params.radix);
}

}  // namespace

extern constinit const Algorithm gather_knomial{
    .collective = Collective::gather,
    .name = "knomial",
    .generate = generate,
    .tunables = "radix",
    .summary = "tree of radix k, (k-1) log_k P alpha + (P-1) m beta (Chan et al. 2007)",
    .cost = "(k-1) log_k P alpha + (P-1) m beta",
    .needs = needs_radix_of_two,
    .refuse = refuse_radix_below_two};

}  // namespace commtune
