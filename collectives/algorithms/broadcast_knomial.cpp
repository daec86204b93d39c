// K-nomial tree broadcast: a rank that holds the vector sends it to k-1 others in every round, so
// the ranks that hold it become k times as many.
//
//   Ranks are numbered v = r - root, in digits of base k. Rank v receives from the rank that has 0
//   for v's lowest digit that is not 0, then fills in the digits below that one, the highest first.
//
//   cost: (k-1) ceil(log_k P)(alpha + n beta) on one port, ceil(log_k P) alpha + ... where k-1
//   messages overlap
//   Wins over the binomial tree (k = 2) for short vectors where messages of one rank overlap.
//   Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel & Dongarra, Cluster Comput. 10(2), 2007.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  return spread_segments(shape, knomial_tree(shape, params.radix), params.segments);
}

}  // namespace

extern constinit const Algorithm broadcast_knomial{
    .collective = Collective::broadcast,
    .name = "knomial",
    .generate = generate,
    .tunables = "segments,radix",
    .summary = "tree of radix k, (k-1) log_k P (alpha + n beta) (Pjesivac-Grbovic et al. 2007)",
    .cost = "(k-1) log_k P (alpha + n beta)",
    .needs = needs_radix_of_two,
    .refuse = refuse_radix_below_two};

}  // namespace commtune
