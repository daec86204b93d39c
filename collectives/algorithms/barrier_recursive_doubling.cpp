// Recursive doubling barrier: partners at distance 1, 2, 4, ... exchange signals.
//
//   fold:    the even rank of each extra pair signals the odd one
//   step k:  node v exchanges signals with v xor 2^k
//   unfold:  the odd rank of each pair signals the even one
//
//   cost: log2 P alpha; plus 2 alpha if P isn't 2^i
//   Wins over dissemination where exchanges between two ranks are cheaper than two messages of
//   different partners.
//   Hoefler, Mehlan, Mietke & Rehm, A survey of barrier algorithms, TU Chemnitz CSR-04-03, 2004.
#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank rank = shape.rank;
  const Fold fold(shape.size);
  ScheduleBuilder program(Collective::barrier, shape, 0);
  if (fold.idle(rank)) {
    program.signal(rank + 1);
    program.fence();
    program.wait_signal(rank + 1);
    return std::move(program).finish();
  }
  if (fold.paired(rank)) program.wait_signal(rank - 1);
  program.fence();
  const Rank node = fold.node(rank);
  for (Rank distance = 1; distance < fold.cube; distance *= 2) {
    program.signal(fold.rank(node ^ distance));
    program.wait_signal(fold.rank(node ^ distance));
    program.fence();
  }
  if (fold.paired(rank)) program.signal(rank - 1);
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm barrier_recursive_doubling{
    .collective = Collective::barrier,
    .name = "recursive_doubling",
    .generate = generate,
    .tunables = "",
    .summary = "exchange signals over a hypercube, log2 P alpha (Hoefler et al. 2004)",
    .cost = "L alpha"};

}  // namespace commtune
