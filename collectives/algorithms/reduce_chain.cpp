// Chain reduce: segments of the vector run through the ranks towards the root, along `channels`
// chains, and every rank adds its own.
//
//   Ranks are numbered v = r - root. The others than the root form `channels` runs of equal length;
//   v receives each segment from v+1, adds its own and sends it to v-1, or from the head of a run
//   to the root, which adds the chains up in order.
//
//   cost: (s + (P-1)/c - 1)(alpha + c n/s (beta + gamma)), s segments, c chains
//   Wins for long vectors on few ranks. Root 0 keeps the order of ranks.
//   Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel & Dongarra, Cluster Comput. 10(2), 2007.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  return sum_segments(shape, chain_tree(shape, params.channels), params.segments, 2);
}

}  // namespace

extern constinit const Algorithm reduce_chain{
    .collective = Collective::reduce,
    .name = "chain",
    .generate = generate,
    .tunables = "segments,channels",
    .summary =
        "segments run along c chains, (s + (P-1)/c - 1)(alpha + c n/s (beta + gamma)) "
        "(Pjesivac-Grbovic et al. 2007)",
    .cost = "(s + (P-1)/c - 1)(alpha + c n/s (beta + gamma))"};

}  // namespace commtune
