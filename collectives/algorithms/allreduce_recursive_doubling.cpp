// Recursive doubling allreduce: partners at distance 1, 2, 4, ... exchange their whole partial
// result and both add it up.
//
//   fold:    the even rank of each extra pair sends its vector to the odd one, which adds it
//   step k:  node v exchanges with node v xor 2^k; the lower rank's operand comes first
//   unfold:  the odd rank of each pair returns the result
//
//   cost: log2 P (alpha + n beta + n gamma); plus 2 alpha + 2 n beta + n gamma if P isn't 2^i
//   Wins for short vectors. Both partners add the same two operands in the same order, so all
//   ranks hold identical bits, and the order of ranks is kept.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank rank = shape.rank;
  const Fold fold(shape.size);
  ScheduleBuilder program(Collective::allreduce, shape, 1);
  if (shape.size == 1) {
    program.copy(in(0), out(0));
    return std::move(program).finish();
  }
  if (fold.idle(rank)) {
    program.send(rank + 1, in(0));
    program.recv(rank + 1, out(0));
    return std::move(program).finish();
  }
  Slice partial = in(0);
  if (fold.paired(rank)) {
    program.recv(rank - 1, tmp(1, 0));
    program.reduce(tmp(1, 0), in(0), out(0));
    partial = out(0);
  }
  const Rank node = fold.node(rank);
  std::uint32_t slot = 0;  // two slots, so that the next recv can be posted during the reduce
  for (Rank distance = 1; distance < fold.cube; distance *= 2, slot = 1 - slot) {
    const Rank peer = fold.rank(node ^ distance);
    const Slice arrived = tmp(slot, 0);
    program.send(peer, partial);
    program.recv(peer, arrived);
    program.reduce(peer < rank ? arrived : partial, peer < rank ? partial : arrived, out(0));
    partial = out(0);
  }
  if (fold.paired(rank)) program.send(rank - 1, out(0));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allreduce_recursive_doubling{
    .collective = Collective::allreduce,
    .name = "recursive_doubling",
    .generate = generate,
    .tunables = "",
    .summary =
        "exchange whole vectors over a hypercube, log2 P (alpha + n beta + n gamma) "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "L (alpha + n beta + n gamma)"};

}  // namespace commtune
