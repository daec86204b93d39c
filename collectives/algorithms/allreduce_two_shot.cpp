// Two-shot allreduce: a direct reduce-scatter, then a direct allgather. The vector is P blocks.
//
//   shot 1:  rank r sends block k of its input to rank k, for k = r+1, r+2, ... around the ring,
//            receives block r of ranks 0, 1, ..., P-1 and adds each to the sum of those before
//   shot 2:  rank r sends the finished block r to r+1, r+2, ... and receives those of r-1, r-2, ...
//
//   cost: 2(P-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma with one port per rank, with about 2
//         alphas when messages overlap
//   Wins for middle-sized vectors on few fully connected ranks, above all in shared memory, where
//   shot 1 is one pass over the senders' memory. Every block is summed at one rank, in the order of
//   ranks, and then copied: identical bits everywhere.
//   Shah, Jangda, Li et al., MSCCL++, arXiv:2504.09014, 2025.
#include "collectives/algorithms/exchange.hpp"
#include "collectives/schedule/algorithm.hpp"

namespace commtune {
namespace {

Schedule generate(const Shape& shape, const Params&) {
  const Rank size = shape.size, rank = shape.rank;
  const auto mine = static_cast<std::uint32_t>(rank);
  ScheduleBuilder program(Collective::allreduce, shape, static_cast<std::uint32_t>(size));
  if (size == 1) {
    program.copy(in(0), out(0));
    return std::move(program).finish();
  }
  for (Rank k = 1; k < size; ++k) {
    const Rank peer = around(rank + k, size);
    program.send(peer, in(static_cast<std::uint32_t>(peer)));
  }
  receive_in_order(program, shape, in(mine), 0, out(mine));
  for (Rank k = 1; k < size; ++k) {
    const Rank from = around(rank - k, size);
    program.send(around(rank + k, size), out(mine));
    program.recv(from, out(static_cast<std::uint32_t>(from)));
  }
  return std::move(program).finish();
}

}  // namespace

extern constinit const Algorithm allreduce_two_shot{
    .collective = Collective::allreduce,
    .name = "two_shot",
    .generate = generate,
    .tunables = "",
    .summary =
        "direct reduce-scatter in rank order and direct allgather, "
        "2 alpha + 2(P-1)/P n beta overlapped (Shah et al. 2025)",
    .cost = "2(P-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma"};

}  // namespace commtune
