// Butterfly reduce-scatter: recursive halving with near ranks first, which keeps the order of
// ranks, on a hypercube of Q = 2^floor(log2 P) nodes.
//
//   fold:     the even rank of each extra pair sends its vector to the odd one, which adds it
//   step k:   node v exchanges half of its run of parts with v xor 2^k and adds the half it keeps;
//             the lower rank's operand comes first
//   deliver:  node v then has the parts of the node with its bits reversed and sends them to their
//             owners
//
//   cost: (log2 P + 1) alpha + ((P-1)/P n + m) beta + (P-1)/P n gamma for P = 2^i; otherwise
//         2 alpha + n (beta + gamma) more; n bytes in the whole vector, m in each rank's part
//   Wins for operators that are not commutative: runs of parts stay contiguous all the way.
//   Traeff, EuroPVM/MPI 2005 (LNCS 3666).
#include "collectives/algorithms/halving.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Rank reversed(Rank node, Rank cube) {
  Rank result = 0;
  for (Rank bit = 1; bit < cube; bit *= 2, node /= 2) result = 2 * result + node % 2;
  return result;
}

Schedule generate(const Shape& shape, const Params&) {
  const Rank rank = shape.rank;
  const auto mine = static_cast<std::uint32_t>(rank);
  const auto parts = static_cast<std::uint32_t>(shape.size);
  const Fold fold(shape.size);
  ScheduleBuilder program(Collective::reduce_scatter, shape, 1);
  if (shape.size == 1) {
    program.copy(in(0), out(0));
    return std::move(program).finish();
  }
  if (fold.idle(rank)) {
    program.send(rank + 1, in(0, parts));
    program.recv(fold.rank(reversed(rank / 2, fold.cube)), out(mine));
    return std::move(program).finish();
  }
  Slice vector = in(0, parts);
  if (fold.paired(rank)) {
    vector = tmp(0, 0, parts);
    program.recv(rank - 1, vector);
    program.reduce(vector, in(0, parts), vector);
  }
  const Halved last = halve(program, fold, rank, vector, 1, true);
  const Rank owner = fold.rank(last.node);
  const auto deliver = [&](Rank to, std::uint32_t slot) {
    const auto part = static_cast<std::uint32_t>(to);
    const Slice sum = to == rank ? out(part) : tmp(slot, part);
    program.reduce(only(last.low, part), only(last.high, part), sum);
    if (to != rank) program.send(to, sum);
  };
  deliver(owner, last.free_slot);
  if (owner != rank) program.recv(owner, out(mine));
  if (fold.paired(owner)) deliver(owner - 1, last.free_slot + 1);
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_scatter_butterfly{
    .collective = Collective::reduce_scatter,
    .name = "butterfly",
    .generate = generate,
    .tunables = "",
    .summary =
        "halving with near ranks first, keeps the order of ranks, "
        "(L+1) alpha + ((P-1)/P n + m) beta (Traeff 2005)",
    .cost = "(L+1) alpha + ((P-1)/P n + m) beta + (P-1)/P n gamma"};

}  // namespace commtune
