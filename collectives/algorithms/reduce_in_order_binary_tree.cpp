// In-order binary tree reduce: segments flow up a search tree of the ranks, so sums keep their
// order.
//
//   The root's children are the middles of the ranks below and above it, and so on down. A rank
//   adds the sum of the ranks below it in the tree's order, its own vector and the sum of those
//   above it.
//
//   cost: 2(ceil(log2 P) + s - 1)(alpha + n/s (beta + gamma)), s segments
//   Wins where the operator is not commutative: any root keeps the order of ranks, without the
//   extra message of trees that must end at the last rank.
//   Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel & Dongarra, Cluster Comput. 10(2), 2007.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  return sum_segments(shape, in_order_binary_tree(shape), params.segments, 2);
}

}  // namespace

extern constinit const Algorithm reduce_in_order_binary_tree{
    .collective = Collective::reduce,
    .name = "in_order_binary_tree",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "binary tree that keeps rank order, 2(log2 P + s - 1)(alpha + n/s (beta + gamma)) "
        "(Pjesivac-Grbovic et al. 2007)",
    .cost = "2(L + s - 1)(alpha + n/s (beta + gamma))"};

}  // namespace commtune
