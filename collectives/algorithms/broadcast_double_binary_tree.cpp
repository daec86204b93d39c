// Double binary tree broadcast: one half of the vector flows down each of two binary trees, and a
// rank has children in at most one of them. Each half is `segments` blocks.
//
//   Segment by segment the root feeds the tops of both trees; the others receive a segment of each
//   half and send those of one half to at most two children.
//
//   cost: 2(log2 P + 1)(alpha + n/(2s) beta) + 2s alpha + n beta, s segments of a half
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
  ScheduleBuilder program(Collective::broadcast, shape, 2 * segments);
  for (std::uint32_t s = 0; s < segments; ++s) {
    spread(program, trees[0], s);
    spread(program, trees[1], segments + s);
  }
  if (shape.rank == shape.root) program.copy(in(0, 2 * segments), out(0, 2 * segments));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm broadcast_double_binary_tree{
    .collective = Collective::broadcast,
    .name = "double_binary_tree",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "halves flow down two trees with disjoint inner ranks, 2(log2 P + s) alpha + n beta "
        "(Sanders, Speck & Traff 2009)",
    .cost = "2(L + 1)(alpha + n/(2s) beta) + 2s alpha + n beta"};

}  // namespace commtune
