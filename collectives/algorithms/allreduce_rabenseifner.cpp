// Rabenseifner's allreduce: a reduce-scatter by recursive halving, then an allgather by recursive
// doubling, on a hypercube of Q = 2^floor(log2 P) nodes. The vector is Q blocks.
//
//   fold:             the even rank of each extra pair sends its vector to the odd one
//   halving step k:   node v exchanges half of its range with v xor Q/2^(k+1), adds the half it
//                     keeps
//   doubling step k:  node v exchanges its finished range with v xor 2^k
//   unfold:           the odd rank of each pair returns the result
//
//   cost: 2 log2 P alpha + 2(P-1)/P n beta + (P-1)/P n gamma for P = 2^i
//   Wins for long vectors at P = 2^i. Every block is summed at one node along one tree and then
//   copied: all ranks hold identical bits.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include <algorithm>

#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

void halve_and_double(ScheduleBuilder& program, const Fold& fold, Rank node, BufferId partial) {
  std::uint32_t first = 0, count = static_cast<std::uint32_t>(fold.cube), slot = 0;
  for (Rank distance = fold.cube / 2; distance > 0; distance /= 2, slot = 1 - slot) {
    const Rank peer = fold.rank(node ^ distance);
    count /= 2;
    const bool upper = (node & distance) != 0;
    const std::uint32_t kept = upper ? first + count : first;
    const std::uint32_t given = upper ? first : first + count;
    program.send(peer, {partial, 0, given, count});
    program.recv(peer, tmp(slot, kept, count));
    program.reduce({partial, 0, kept, count}, tmp(slot, kept, count), out(kept, count));
    partial = BufferId::output;
    first = kept;
  }
  for (Rank distance = 1; distance < fold.cube; distance *= 2) {
    const Rank peer = fold.rank(node ^ distance);
    const std::uint32_t theirs = (node & distance) != 0 ? first - count : first + count;
    program.send(peer, out(first, count));
    program.recv(peer, out(theirs, count));
    first = std::min(first, theirs);
    count *= 2;
  }
}

Schedule generate(const Shape& shape, const Params&) {
  const Rank rank = shape.rank;
  const Fold fold(shape.size);
  const auto blocks = static_cast<std::uint32_t>(fold.cube);
  ScheduleBuilder program(Collective::allreduce, shape, blocks);
  if (shape.size == 1) {
    program.copy(in(0, blocks), out(0, blocks));
    return std::move(program).finish();
  }
  if (fold.idle(rank)) {
    program.send(rank + 1, in(0, blocks));
    program.recv(rank + 1, out(0, blocks));
    return std::move(program).finish();
  }
  if (fold.paired(rank)) {
    program.recv(rank - 1, tmp(1, 0, blocks));
    program.reduce(tmp(1, 0, blocks), in(0, blocks), out(0, blocks));
  }
  halve_and_double(program, fold, fold.node(rank),
                   fold.paired(rank) ? BufferId::output : BufferId::input);
  if (fold.paired(rank)) program.send(rank - 1, out(0, blocks));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allreduce_rabenseifner{
    .collective = Collective::allreduce,
    .name = "rabenseifner",
    .generate = generate,
    .tunables = "",
    .summary =
        "recursive halving and doubling, 2 log2 P alpha + 2(P-1)/P n beta "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "2L alpha + 2(P-1)/P n beta + (P-1)/P n gamma"};

}  // namespace commtune
