// Rabenseifner's reduce: a reduce-scatter by recursive halving, then a binomial gather to the root,
// on a hypercube of Q = 2^floor(log2 P) nodes. The vector is Q blocks.
//
//   fold:            one rank of each extra pair, never the root, sends its vector to the other
//   halving step k:  node v exchanges half of its range with v xor 2^k and adds the half it keeps;
//                    the nearest come first, so the order of ranks is kept
//   gather step k:   the steps in reverse; of two partners the one nearer to the root's number
//                    receives what the other one holds, which then leaves
//
//   cost: 2 log2 P alpha + 2(P-1)/P n beta + (P-1)/P n gamma for P = 2^i, otherwise one more
//   message of n, and n gamma
//   Wins for long vectors. Keeps the order of ranks at any root.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include <vector>

#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

/// The hypercube, with the root in it.
struct Cube {
  Fold fold;
  Rank root;

  /// The rank of a pair that takes part.
  Rank rank(Rank node) const {
    const bool swapped = fold.idle(root) && node == root / 2;
    return swapped ? root : fold.rank(node);
  }
  Rank node(Rank rank) const { return fold.paired(rank) ? rank / 2 : rank - fold.extra; }
  /// The block that a node sums up in the end: its number, bits reversed.
  std::uint32_t block(Rank node) const {
    std::uint32_t reversed = 0;
    for (Rank bit = 1; bit < fold.cube; bit *= 2) {
      reversed = 2 * reversed + ((node & bit) != 0 ? 1U : 0U);
    }
    return reversed;
  }
};

/// Returns where the node's finished block lies.
Slice halve(ScheduleBuilder& program, const Cube& cube, Rank node, Slice partial, bool root) {
  std::uint32_t slot = 1;
  for (Rank distance = 1; distance < cube.fold.cube; distance *= 2, slot = slot % 3 + 1) {
    const Rank peer = cube.rank(node ^ distance);
    const bool upper = (node & distance) != 0;
    const std::uint32_t half = partial.count / 2;
    Slice kept = partial, given = partial;
    kept.count = given.count = half;
    (upper ? kept : given).first += half;
    const Slice arrived = tmp(slot, kept.first, half);
    const Slice sum = root && half == 1 ? out(kept.first) : arrived;
    program.send(peer, given);
    program.recv(peer, arrived);
    program.reduce(upper ? arrived : kept, upper ? kept : arrived, sum);
    partial = sum;
  }
  return partial;
}

void gather(ScheduleBuilder& program, const Cube& cube, Rank node, Slice finished) {
  const Rank target = cube.node(cube.root);
  std::vector<Rank> nodes{node};  // whose blocks are held, in the order of `held`
  std::vector<Slice> held{finished};
  std::uint32_t slot = 4;
  for (Rank distance = cube.fold.cube / 2; distance > 0; distance /= 2) {
    const Rank peer = cube.rank(node ^ distance);
    if (((node ^ target) & distance) != 0) {
      program.send(peer, held);
      return;
    }
    std::vector<Slice> arriving;
    for (std::size_t i = 0, count = nodes.size(); i < count; ++i) {
      nodes.push_back(nodes[i] ^ distance);
      const std::uint32_t block = cube.block(nodes.back());
      arriving.push_back(node == target ? out(block) : tmp(slot++, block));
    }
    program.recv(peer, arriving);
    held.insert(held.end(), arriving.begin(), arriving.end());
  }
}

Schedule generate(const Shape& shape, const Params&) {
  const Rank rank = shape.rank;
  const Cube cube{Fold(shape.size), shape.root};
  const auto blocks = static_cast<std::uint32_t>(cube.fold.cube);
  ScheduleBuilder program(Collective::reduce, shape, blocks);
  if (shape.size == 1) {
    program.copy(in(0, blocks), out(0, blocks));
    return std::move(program).finish();
  }
  const Rank node = cube.node(rank);
  if (cube.rank(node) != rank) {
    program.send(cube.rank(node), in(0, blocks));
    return std::move(program).finish();
  }
  Slice partial = in(0, blocks);
  if (cube.fold.paired(rank)) {
    const Slice arrived = tmp(0, 0, blocks);
    const bool lower = cube.fold.idle(rank);
    program.recv(lower ? rank + 1 : rank - 1, arrived);
    program.reduce(lower ? partial : arrived, lower ? arrived : partial, arrived);
    partial = arrived;
  }
  gather(program, cube, node, halve(program, cube, node, partial, rank == shape.root));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_rabenseifner{
    .collective = Collective::reduce,
    .name = "rabenseifner",
    .generate = generate,
    .tunables = "",
    .summary =
        "recursive halving and a binomial gather, 2 log2 P alpha + 2(P-1)/P n beta "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "2L alpha + 2(P-1)/P n beta + (P-1)/P n gamma"};

}  // namespace commtune
