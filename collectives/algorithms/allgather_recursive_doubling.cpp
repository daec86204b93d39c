// Recursive doubling allgather: partners at distance 1, 2, 4, ... exchange everything they hold.
//
//   fold:    the even rank of each extra pair sends its part to the odd one
//   step k:  node v exchanges all parts of its group of 2^k nodes with v xor 2^k. Nodes are
//            numbered in the order of ranks, so the parts of a group are always one run.
//   unfold:  the odd rank of each pair returns all P parts
//
//   cost: log2 P alpha + (P-1) m beta for P = 2^i, m bytes in each rank's part; otherwise
//         2 alpha + (P+1) m beta more
//   Wins for short parts.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank rank = shape.rank;
  const auto mine = static_cast<std::uint32_t>(rank);
  const Fold fold(shape.size);
  ScheduleBuilder program(Collective::allgather, shape, 1);
  if (fold.idle(rank)) {
    program.send(rank + 1, in(mine));
    program.recv(rank + 1, out(0, static_cast<std::uint32_t>(shape.size)));
    return std::move(program).finish();
  }
  program.copy(in(mine), out(mine));
  if (fold.paired(rank)) program.recv(rank - 1, out(mine - 1));
  const auto group = [&](Rank first, Rank nodes) {
    const auto begin = [&](Rank of) { return of < fold.extra ? 2 * of : of + fold.extra; };
    return out(static_cast<std::uint32_t>(begin(first)),
               static_cast<std::uint32_t>(begin(first + nodes) - begin(first)));
  };
  const Rank node = fold.node(rank);
  for (Rank distance = 1; distance < fold.cube; distance *= 2) {
    const Rank first = node & ~(distance - 1);
    const Rank peer = fold.rank(node ^ distance);
    program.send(peer, group(first, distance));
    program.recv(peer, group(first ^ distance, distance));
  }
  if (fold.paired(rank)) program.send(rank - 1, out(0, static_cast<std::uint32_t>(shape.size)));
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allgather_recursive_doubling{
    .collective = Collective::allgather,
    .name = "recursive_doubling",
    .generate = generate,
    .tunables = "",
    .summary =
        "exchange doubling groups of parts, log2 P alpha + (P-1) m beta "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "L alpha + (P-1) m beta"};

}  // namespace commtune
