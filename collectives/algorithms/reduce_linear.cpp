// Linear reduce: every rank sends its vector to the root, which adds them up in the order of ranks.
//
//   Arrivals land in `radix` + 1 scratch slots in turn, so `radix` messages can be in flight during
//   a reduction.
//
//   cost: (P-1)(alpha + n beta + n gamma), all of it on the root's port
//   Wins for 2 or 3 ranks. The sum is ((x0 + x1) + x2) + ... at any root: reproducible, and the
//   order of ranks is kept.
//   Chan, Heimlich, Purkayastha & van de Geijn, Concurrency Comput. Pract. Exper. 19(13), 2007.
#include <algorithm>

#include "collectives/algorithms/topology.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size, root = shape.root;
  ScheduleBuilder program(Collective::reduce, shape, 1);
  if (shape.rank != root) {
    program.send(root, in(0));
    return std::move(program).finish();
  }
  if (size == 1) program.copy(in(0), out(0));
  const std::uint32_t slots = std::min(params.radix, static_cast<std::uint32_t>(size)) + 1;
  std::uint32_t arrivals = 0;
  Slice sum = in(0);
  for (Rank rank = 0; rank < size; ++rank) {
    Slice operand = in(0);
    if (rank != root) {
      operand = tmp(arrivals++ % slots, 0);
      program.recv(rank, operand);
    }
    if (rank == 0) {
      sum = operand;
      continue;
    }
    // The output may hold the root's input, so partial sums stay in scratch until the last one.
    Slice partial = rank == root ? sum : operand;
    if (rank == size - 1) partial = out(0);
    if (partial.buffer == BufferId::input) partial = operand;
    program.reduce(sum, operand, partial);
    sum = partial;
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm reduce_linear{
    .collective = Collective::reduce,
    .name = "linear",
    .generate = generate,
    .tunables = "radix",
    .summary =
        "all send to the root, which adds in rank order, (P-1)(alpha + n beta + n gamma) "
        "(Chan et al. 2007)",
    .cost = "(P-1)(alpha + n beta + n gamma)"};

}  // namespace commtune
