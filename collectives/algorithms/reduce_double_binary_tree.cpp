// Double binary tree reduce: one half of the vector flows up each of two binary trees, and a rank
// has children in at most one of them. Each half is `segments` blocks.
//
//   Segment by segment a rank adds those of one half from at most two children to its own and sends
//   one of each half to its parents; the root adds the tops of both trees.
//
//   cost: 2(log2 P + 1)(alpha + n/(2s) (beta + gamma)) + 2s alpha + n (beta + gamma), s segments of
//   a half
//   Wins for long vectors on many ranks: every port carries the vector once, as in a chain, at the
//   depth of a tree.
//   Sanders, Speck & Traff, Parallel Comput. 35(12), 2009.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const std::uint32_t segments = params.segments;
  const std::array<Tree, 2> trees = double_binary_tree(shape);
  ScheduleBuilder program(Collective::reduce, shape, 2 * segments);
  TreeSum sum(program, shape.rank, 2);
  for (std::uint32_t s = 0; s < segments; ++s) {
    sum.add(trees[0], s);
    sum.add(trees[1], segments + s);
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_double_binary_tree{
    .collective = Collective::reduce,
    .name = "double_binary_tree",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "halves flow up two trees with disjoint inner ranks, 2(log2 P + s) alpha + n (beta + "
        "gamma) "
        "(Sanders, Speck & Traff 2009)",
    .cost = "2(L + 1)(alpha + n/(2s) (beta + gamma)) + 2s alpha + n (beta + gamma)"};

}  // namespace commtune
