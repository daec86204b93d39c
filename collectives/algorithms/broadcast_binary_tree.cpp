// Pipelined binary tree broadcast: segments flow down a binary tree of least depth.
//
//   Ranks are numbered v = r - root. Rank v receives each segment from (v-1)/2 and sends it to 2v+1
//   and 2v+2 while it receives the next.
//
//   cost: 2(floor(log2 P) + s - 1)(alpha + n/s beta), s segments
//   Wins for vectors of middle length on many ranks, where a chain is too deep.
//   Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel & Dongarra, Cluster Comput. 10(2), 2007.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  return spread_segments(shape, binary_tree(shape), params.segments);
}

}  // namespace

extern constinit const Algorithm broadcast_binary_tree{
    .collective = Collective::broadcast,
    .name = "binary_tree",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "segments flow down a binary tree, 2(log2 P + s - 1)(alpha + n/s beta) "
        "(Pjesivac-Grbovic et al. 2007)",
    .cost = "2(L + s - 1)(alpha + n/s beta)"};

}  // namespace commtune
