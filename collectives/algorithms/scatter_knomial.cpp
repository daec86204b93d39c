// K-nomial tree scatter: a rank that holds parts hands those of k-1 subtrees on in every round.
//
//   Ranks are numbered v = r - root, in digits of base k. Rank v receives the parts of its subtree
//   in one message from the rank with 0 for v's lowest digit that is not 0, then sends those of
//   each subtree to the ranks that differ from v in one digit below it, the highest first.
//
//   cost: (k-1) ceil(log_k P) alpha + (P-1) m beta, m bytes in each rank's part
//   Wins over the binomial tree (k = 2) for short parts where messages of one rank overlap.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  return scatter_knomial_parts(shape, params.radix);
}

}  // namespace

extern constinit const Algorithm scatter_knomial{
    .collective = Collective::scatter,
    .name = "knomial",
    .generate = generate,
    .tunables = "radix",
    .summary = "tree of radix k, (k-1) log_k P alpha + (P-1) m beta (Chan et al. 2007)",
    .cost = "(k-1) log_k P alpha + (P-1) m beta",
    .needs = needs_radix_of_two,
    .refuse = refuse_radix_below_two};

}  // namespace commtune
