// Recursive halving reduce-scatter, on a hypercube of Q = 2^floor(log2 P) nodes.
//
//   fold:    the even rank of each extra pair sends its vector to the odd one, which adds it
//   step k:  node v exchanges half of its run of parts with v xor Q/2^(k+1) and adds the half it
//            keeps
//   unfold:  the odd rank of each pair sends the even one its part
//
//   cost: log2 P alpha + (P-1)/P n (beta + gamma) for P = 2^i; otherwise 2 alpha + n (beta + gamma)
//         + m beta more; n bytes in the whole vector, m in each rank's part
//   Wins for short and medium vectors at P = 2^i.
//   Thakur, Rabenseifner & Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005.
#include "collectives/algorithms/halving.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

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
    program.recv(rank + 1, out(mine));
    return std::move(program).finish();
  }
  Slice vector = in(0, parts);
  if (fold.paired(rank)) {
    vector = tmp(0, 0, parts);
    program.recv(rank - 1, vector);
    program.reduce(vector, in(0, parts), vector);
  }
  const Halved last = halve(program, fold, rank, vector, 1, false);
  program.reduce(only(last.low, mine), only(last.high, mine), out(mine));
  if (fold.paired(rank)) {
    const std::uint32_t theirs = mine - 1;
    program.reduce(only(last.low, theirs), only(last.high, theirs), tmp(0, theirs));
    program.send(rank - 1, tmp(0, theirs));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_scatter_recursive_halving{
    .collective = Collective::reduce_scatter,
    .name = "recursive_halving",
    .generate = generate,
    .tunables = "",
    .summary =
        "exchange halves over a hypercube, far ranks first, L alpha + (P-1)/P n (beta + gamma) "
        "(Thakur, Rabenseifner & Gropp 2005)",
    .cost = "L alpha + (P-1)/P n beta + (P-1)/P n gamma"};

}  // namespace commtune
