// Split binary tree broadcast: one half of the vector flows down each of the root's two subtrees,
// then ranks of the two subtrees exchange their halves in pairs. Each half is `segments` blocks.
//
//   Ranks are numbered v = r - root; the first half of the others is the left subtree, the rest the
//   right one, each a binary tree numbered from its top. The i-th ranks of both are a pair. When
//   the others are odd in number the last leaf is shared: it receives both halves.
//
//   cost: 2(log2 P + s - 2)(alpha + n/(2s) beta) + alpha + n/2 beta, s segments of a half
//   Wins over the binary tree for long vectors: an inner rank sends its half twice and once more in
//   the exchange, 3/2 n instead of 2n.
//   Pjesivac-Grbovic, Angskun, Bosilca, Fagg, Gabriel & Dongarra, Cluster Comput. 10(2), 2007.
#include "collectives/algorithms/tree_programs.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

/// The subtrees are the nodes [1, 1 + ranks) and [first_right, first_right + ranks).
struct Halves {
  Rank ranks, first_right;
  explicit Halves(Rank size) : ranks(size / 2), first_right(size - ranks) {}
  bool left(Rank node) const { return node < 1 + ranks; }
  bool right(Rank node) const { return node >= first_right; }
};

/// The neighbours in the left or right subtree, including the root.
Tree subtree(const Shape& shape, const Halves& halves, bool right) {
  const Rank node = tree_node(shape);
  // The right subtree counts from its end down, so that a shared leaf is the last of both.
  const auto node_of = [&](Rank index) { return right ? shape.size - 1 - index : 1 + index; };
  if (node == 0) return relabelled(shape, -1, {node_of(0)});
  const Rank index = right ? shape.size - 1 - node : node - 1;
  Tree tree = binary_tree({.rank = index, .size = halves.ranks, .root = 0});
  for (Rank& child : tree.children) child = node_of(child);
  return relabelled(shape, index == 0 ? 0 : node_of(tree.parent), std::move(tree.children));
}

Schedule generate(const Shape& shape, const Params& params) {
  const std::uint32_t segments = params.segments;
  const Halves halves(shape.size);
  const Rank node = tree_node(shape);
  ScheduleBuilder program(Collective::broadcast, shape, 2 * segments);
  if (shape.size > 1) {
    std::array<Tree, 2> trees;
    const std::array<bool, 2> member{node == 0 || halves.left(node),
                                     node == 0 || halves.right(node)};
    for (const std::size_t half : {0U, 1U}) {
      if (member[half]) trees[half] = subtree(shape, halves, half == 1);
    }
    for (std::uint32_t s = 0; s < segments; ++s) {
      if (member[0]) spread(program, trees[0], s);
      if (member[1]) spread(program, trees[1], segments + s);
    }
    if (member[0] != member[1]) {
      const Rank pair = tree_rank(shape, shape.size - node);
      program.send(pair, out(member[0] ? 0 : segments, segments));
      program.recv(pair, out(member[0] ? segments : 0, segments));
    }
  }
  if (node == 0) program.copy(in(0, 2 * segments), out(0, 2 * segments));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm broadcast_split_binary{
    .collective = Collective::broadcast,
    .name = "split_binary",
    .generate = generate,
    .tunables = "segments",
    .summary =
        "halves flow down two subtrees, then pairs exchange, 2(log2 P + s)(alpha + n/(2s) beta) + "
        "n/2 beta (Pjesivac-Grbovic et al. 2007)",
    .cost = "2(L + s - 2)(alpha + n/(2s) beta) + alpha + n/2 beta"};

}  // namespace commtune
