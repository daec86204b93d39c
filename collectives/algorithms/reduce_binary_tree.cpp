// Pipelined binary tree reduce: segments flow up a binary tree of least depth.
//
//   Ranks are numbered v = r - root. Rank v adds each segment of 2v+1 and 2v+2 to its own and sends
//   the sum to (v-1)/2 while the next arrives.
//
//   cost: 2(floor(log2 P) + s - 1)(alpha + n/s (beta + gamma)), s segments
//   Wins for vectors of middle length on many ranks, where a chain is too deep.
//   Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel & Dongarra, Cluster Comput. 10(2), 2007.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  return sum_segments(shape, binary_tree(shape), params.segments, 2);
}

}  // namespace

extern constinit const Algorithm reduce_binary_tree{
    .collective = Collective::reduce,
    .name = "binary_tree",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "segments flow up a binary tree, 2(log2 P + s - 1)(alpha + n/s (beta + gamma)) "
        "(Pjesivac-Grbovic et al. 2007)",
    .cost = "2(L + s - 1)(alpha + n/s (beta + gamma))"};

}  // namespace commtune
