// Chain broadcast: the vector runs through the ranks in segments, along `channels` chains that all
// start at the root.
//
//   Ranks are numbered v = r - root. The others than the root form `channels` runs of equal length;
//   the root sends each segment to the head of every run, v receives it from v-1 and sends it to
//   v+1 while it receives the next.
//
//   cost: (s + (P-1)/c - 1)(alpha + c n/s beta), s segments, c chains
//   Wins for long vectors on few ranks: with one chain every port carries the vector once.
//   Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel & Dongarra, Cluster Comput. 10(2), 2007.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  return spread_segments(shape, chain_tree(shape, params.channels), params.segments);
}

}  // namespace

extern constinit const Algorithm broadcast_chain{
    .collective = Collective::broadcast,
    .name = "chain",
    .generate = generate,
    .tunables = "segments,channels",
    .summary =
        "segments run along c chains, (s + (P-1)/c - 1)(alpha + c n/s beta) "
        "(Pjesivac-Grbovic et al. 2007)",
    .cost = "(s + (P-1)/c - 1)(alpha + c n/s beta)"};

}  // namespace commtune
