// Double binary tree allreduce: two binary trees side by side, each of which sums and spreads one
// half of the vector. A half is `segments` blocks.
//
//   trees:  in both, node v with lowest bit b is in the middle of its subtree, and its parent is
//           the multiple of 2b beside it. In the first tree rank r is node r+1; in the second it is
//           node r, and rank 0 is the root above the others. A rank has children in one tree only
//   up:     for each segment and tree, a rank adds the sums of its lower child, itself and its
//           upper child and sends the sum to its parent
//   down:   for each segment and tree, a rank passes the result on to its children
//
//   cost: 2(L+1+S)(2 alpha + n/S beta) and half the additions in S segments: 2 n beta for long n
//   Wins for middle-sized vectors at large P: as few steps as a tree, and ports as busy as in a
//   ring. Each half is summed along one tree and then copied: identical bits everywhere, and the
//   order of ranks is kept.
//   Sanders, Speck & Traff, Parallel Comput. 35(12), 2009.
#include <array>

#include "collectives/algorithms/reduction_tree.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

/// The tree of nodes 1 to `last`, in order; node 0 is none of them, or the root above them.
Tree in_order_tree(Rank node, Rank last) {
  const auto top = static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(last)));
  if (node == 0) return {-1, {top}};
  const Rank bit = node & -node;
  Tree tree{(node - bit) | 2 * bit, {}};
  if (tree.parent > last) tree.parent = node - bit;
  Rank upper = bit / 2;
  while (node + upper > last) upper /= 2;
  if (upper > 0) tree.children.push_back(node + upper);
  if (bit > 1) tree.children.push_back(node - bit / 2);
  return tree;
}

Schedule generate(const Shape& shape, const Params& params) {
  std::array<Tree, 2> trees;
  if (shape.size > 1) {
    trees = {in_order_tree(shape.rank + 1, shape.size), in_order_tree(shape.rank, shape.size - 1)};
    --trees[0].parent;  // node r+1 is rank r, and node 0 is no rank
    for (Rank& child : trees[0].children) --child;
  }
  return reduce_and_broadcast(shape, trees, params.segments, 4);
}

}  // namespace

extern constinit const Algorithm allreduce_double_binary_tree{
    .collective = Collective::allreduce,
    .name = "double_binary_tree",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "each half of the vector up and down a binary tree of its own, pipelined, "
        "2(L+1+S)(2 alpha + n/S beta) (Sanders, Speck & Traff 2009)",
    .cost = "2(L+1+S)(2 alpha + n/S beta) + (L+1+S) n/S gamma, S segments"};

}  // namespace commtune
