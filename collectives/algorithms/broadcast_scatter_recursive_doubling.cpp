// Scatter and recursive doubling broadcast: a binomial tree scatters the vector in Q = 2^floor(log2
// P) blocks over Q nodes, which collect them by recursive doubling.
//
//   Ranks are numbered v = r - root; the first Q are the nodes. Scatter: v receives blocks
//   [v, v + 2^j), 2^j its lowest set bit, from v - 2^j and passes the upper halves on.
//   doubling step k:  v exchanges all blocks of its group of 2^k nodes with v xor 2^k; nodes that
//                     the scatter has left all blocks of both groups only send
//   unfold:           v sends the vector to v + Q, if it exists
//
//   cost: 2 log2 P alpha + 2(P-1)/P n beta for P = 2^i, otherwise alpha + n beta more
//   Wins for vectors of middle length at P = 2^i.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/trees.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank node = tree_node(shape), cube = Fold(shape.size).cube;
  const auto blocks = static_cast<std::uint32_t>(cube);
  ScheduleBuilder program(Collective::broadcast, shape, blocks);
  if (node >= cube) {
    program.recv(tree_rank(shape, node - cube), out(0, blocks));
    return std::move(program).finish();
  }
  const auto run = [](BufferId buffer, Rank first, Rank count) {
    return Slice{buffer, 0, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)};
  };
  const BufferId source = node == 0 ? BufferId::input : BufferId::output;
  const KnomialNode place(node, cube, 2);
  if (node != 0) {
    program.recv(tree_rank(shape, place.parent), run(BufferId::output, node, place.extent));
  }
  for (const Rank child : place.children) {
    program.send(tree_rank(shape, child), run(source, child, KnomialNode(child, cube, 2).extent));
  }
  for (Rank distance = 1; distance < cube; distance *= 2) {
    const Rank other = node ^ distance, first = node & ~(distance - 1);
    const Rank peer = tree_rank(shape, other);
    if (other % (2 * distance) != 0) program.send(peer, run(source, first, distance));
    if (node % (2 * distance) != 0) {
      program.recv(peer, run(BufferId::output, first ^ distance, distance));
    }
  }
  if (node + cube < shape.size) {
    program.send(tree_rank(shape, node + cube), run(source, 0, cube));
  }
  if (node == 0) program.copy(in(0, blocks), out(0, blocks));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm broadcast_scatter_recursive_doubling{
    .collective = Collective::broadcast,
    .name = "scatter_recursive_doubling",
    .generate = generate,
    .tunables = "",
    .summary =
        "binomial scatter and recursive doubling, 2 log2 P alpha + 2(P-1)/P n beta "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "2L alpha + 2(P-1)/P n beta"};

}  // namespace commtune
