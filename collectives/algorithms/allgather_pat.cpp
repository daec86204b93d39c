// Parallel aggregated trees (PAT): every part is spread along a binomial tree, all trees at once,
// and a message carries parts of at most `radix` trees (rounded up to a power of two, A).
//
//   logarithmic phase: distances halve from 2^(L-1) while messages double up to A parts
//   linear phase:      P/A-1 messages of A parts each walk the subtrees that are left, far
//                      distances first
//
//   cost: (log2 A + P/A) alpha + (P-1) m beta, m bytes in each rank's part
//   Wins between the ring and logarithmic algorithms: radix P is sparbit, radix 1 sends each part
//   by itself along its tree. The limit bounds what a message needs to be packed.
//   Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv
//   2506.20252, 2025.
#include "collectives/algorithms/parts.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params& params) {
  const Rank size = shape.size, rank = shape.rank;
  const auto mine = static_cast<std::uint32_t>(rank);
  ScheduleBuilder program(Collective::allgather, shape, 1);
  program.copy(in(mine), out(mine));
  for (const TreeMessage& message : tree_messages(size, params.radix, TreeOrder::breadth_first)) {
    program.send(around(rank + message.distance, size), tree_parts(message, rank, size));
    program.recv(around(rank - message.distance, size),
                 tree_parts(message, rank - message.distance, size));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allgather_pat{
    .collective = Collective::allgather,
    .name = "pat",
    .generate = generate,
    .tunables = "radix",
    .summary =
        "binomial trees of all parts at once, at most radix parts in a message, "
        "(log2 k + P/k) alpha + (P-1) m beta (Jeaugey 2025)",
    .cost = "(log2 k + P/k) alpha + (P-1) m beta"};

}  // namespace commtune
